"""What a reader of one format gives."""

import itertools
from collections import Counter
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Sequence, Tuple

import numpy as np

from .._show import show
from ..exceptions import ArgumentError, FreezeCompatError, MissingDependency
from ..resolve import Weight

#: How many bytes of a weight are in memory at a time.
BLOCK_BYTES = 2**22


class ModelFile:
    """The weights of one file.

    Attributes:
        path: the file.
        rows: its weights; where a file tells not which ones are trained, each counts as trainable, and where it tells
            not their order, none has an ordinal.
        left_out: what else is in the file, and no weight.
    """

    def __init__(
        self,
        path: str,
        rows: Sequence[Weight],
        blocks: Callable[[str], Iterator[np.ndarray]],
        left_out: Sequence[str] = (),
    ) -> None:
        """Hold what a reader found.

        Args:
            path: the file.
            rows: a row for each weight, without values, with their ordinals.
            blocks: function of an address that gives the values in C order, as arrays of rank 1, one after the other.
            left_out: what else is in the file, and no weight.
        """
        self.path = path
        self.rows: List[Weight] = list(rows)
        addresses = Counter(row.address for row in self.rows)
        twice = [address for address, number in addresses.items() if number > 1]
        if twice:
            raise ArgumentError("two weights in it have the address {!r}".format(twice[0]))
        self.left_out = tuple(left_out)
        self._blocks = blocks

    def blocks(self, address: str) -> Iterator[np.ndarray]:
        """Give a weight's values in C order, as arrays of rank 1, one after the other.

        Raises:
            ArgumentError: the file is broken there.
        """
        with reading(self.path):
            for values in self._blocks(address):
                yield _plain(values)

    def read(self, address: str) -> np.ndarray:
        """Give a weight's values as one array of its shape.

        Raises:
            ArgumentError: the file is broken there.
        """
        row = next(row for row in self.rows if row.address == address)
        with reading(self.path):
            blocks = self._blocks(address)
            first = _plain(next(blocks))
            whole = np.empty(int(np.prod(row.shape, dtype=np.int64)), first.dtype)
            place = 0
            for values in itertools.chain([first], map(_plain, blocks)):
                whole[place : place + len(values)] = values
                place += len(values)
        return whole.reshape(row.shape)


def dtype_name(dtype: Any) -> str:
    """The name of a weight's dtype: bfloat16, which the formats don't have, is two bytes of no kind in a file."""
    return "bfloat16" if _is_bfloat16(dtype) else dtype.newbyteorder("=").name


def _is_bfloat16(dtype: Any) -> bool:
    return dtype.name == "bfloat16" or (dtype.kind == "V" and dtype.itemsize == 2 and dtype.names is None)


def _plain(values: np.ndarray) -> np.ndarray:
    """Values in this machine's order of bytes; bfloat16 as the float32 of the same value: its bits, and 16 zeros."""
    if _is_bfloat16(values.dtype):
        return (np.ascontiguousarray(values).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def slabs(shape: Sequence[int], length: int) -> Iterator[Tuple[slice, ...]]:
    """Cut an array, in C order, into parts of at most so many elements.

    Example:
        >>> list(slabs((2, 3), 2))
        [(slice(0, 1, None), slice(0, 2, None)), (slice(0, 1, None), slice(2, 3, None)), \
(slice(1, 2, None), slice(0, 2, None)), (slice(1, 2, None), slice(2, 3, None))]
    """
    inner = int(np.prod(shape[1:], dtype=np.int64))
    if inner <= length:
        step = length // max(1, inner)
        for start in range(0, shape[0], step):
            yield (slice(start, min(start + step, shape[0])),)
        return
    for index in range(shape[0]):
        for rest in slabs(shape[1:], length):
            yield (slice(index, index + 1),) + rest


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn whatever a broken file leads to into one line that names it."""
    try:
        yield
    except MissingDependency:
        raise
    except FreezeCompatError as error:
        raise ArgumentError("can't read {}: {}".format(path, error)) from error
    except OSError as error:
        raise ArgumentError("can't read {}: {}".format(path, error.strerror or error)) from error
    except Exception as error:  # of zipfile, zlib, numpy's header reader: BadZipFile, TokenError, SyntaxError, ...
        raise ArgumentError("can't read {}: {}".format(path, show(str(error)))) from error
