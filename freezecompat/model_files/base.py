"""What a reader of one format gives."""

from contextlib import contextmanager
from typing import Callable, Iterator, List, Sequence

import numpy as np

from .._show import show
from ..exceptions import ArgumentError, FreezeCompatError
from ..resolve import Weight, as_weights

#: How many bytes of a weight are in memory at a time.
BLOCK_BYTES = 2**22


class ModelFile:
    """The weights of one file.

    Attributes:
        path: the file.
        rows: its weights; files tell not which ones are trained, so each counts as trainable.
    """

    def __init__(self, path: str, rows: Sequence[Weight], blocks: Callable[[str], Iterator[np.ndarray]]) -> None:
        """Hold what a reader found.

        Args:
            path: the file.
            rows: a row for each weight, without values.
            blocks: function of an address that gives the values in C order, as arrays of rank 1, one after the other.
        """
        self.path = path
        self.rows: List[Weight] = as_weights(rows)
        self._blocks = blocks

    def blocks(self, address: str) -> Iterator[np.ndarray]:
        """Give a weight's values in C order, as arrays of rank 1, one after the other.

        Raises:
            ArgumentError: the file is broken there.
        """
        with reading(self.path):
            yield from self._blocks(address)

    def read(self, address: str) -> np.ndarray:
        """Give a weight's values as one array of its shape.

        Raises:
            ArgumentError: the file is broken there.
        """
        row = next(row for row in self.rows if row.address == address)
        return np.concatenate(list(self.blocks(address))).reshape(row.shape)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn whatever a broken file leads to into one line that names it."""
    try:
        yield
    except FreezeCompatError as error:
        raise ArgumentError("can't read {}: {}".format(path, error)) from error
    except OSError as error:
        raise ArgumentError("can't read {}: {}".format(path, error.strerror or error)) from error
    except Exception as error:  # of zipfile, zlib, numpy's header reader: BadZipFile, TokenError, SyntaxError, ...
        raise ArgumentError("can't read {}: {}".format(path, show(str(error)))) from error
