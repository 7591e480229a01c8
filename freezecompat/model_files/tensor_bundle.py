"""Checkpoints of format V2, which every TensorFlow since 1.0 writes: read without TensorFlow, a block at a time.

`PREFIX.index` is a table of what there is and where; `PREFIX.data-00000-of-00001`, ... hold the bare values. The messages
are those of tensorflow/core/protobuf/tensor_bundle.proto.
"""

from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

import numpy as np

from ..exceptions import ArgumentError
from . import table
from .base import BLOCK_BYTES
from .wire import fields, integer, varint

#: tensorflow/core/framework/types.proto; bfloat16, which numpy does not have, is two bytes of no kind.
_DTYPES = {
    1: "f4",
    2: "f8",
    3: "i4",
    4: "u1",
    5: "i2",
    6: "i1",
    8: "c8",
    9: "i8",
    10: "?",
    14: "V2",
    17: "u2",
    18: "c16",
    19: "f2",
    22: "u4",
    23: "u8",
}


class Entry(NamedTuple):
    """Where the values of one variable are."""

    shape: Tuple[int, ...]
    dtype: Any  # None for text, and for what has no plain values
    is_sliced: bool  # a variable of several parts, of which each has an entry of its own
    shard: int
    offset: int
    size: int


class Bundle:
    """A checkpoint.

    Attributes:
        entries: `{key: Entry}`
    """

    def __init__(self, prefix: str) -> None:
        """Read what there is, and no values."""
        self._prefix = prefix
        self.entries: Dict[str, Entry] = {}
        with open(prefix + ".index", "rb") as file:
            found = dict(table.entries(file.read()))
        header = fields(found.pop(b"", b""))
        self._shards = integer(header, 1)
        order = ">" if integer(header, 2) else "<"
        for key, value in found.items():
            if not key.startswith(b"\0"):  # the parts of a variable
                self.entries[key.decode("utf-8")] = _entry(fields(value), order)

    def text(self, key: str) -> Optional[bytes]:
        """A text of the checkpoint's own, None where there is none."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        with open(self._data(entry), "rb") as file:
            file.seek(entry.offset)
            data = file.read(entry.size)
        length, place = varint(data, 0)
        return data[place + 4 : place + 4 + length]  # a checksum of the length lies between

    def blocks(self, key: str) -> Iterator[np.ndarray]:
        """The values of a variable in C order."""
        entry = self.entries[key]
        left = int(np.prod(entry.shape, dtype=np.int64))
        if left * entry.dtype.itemsize != entry.size:
            raise ArgumentError("{} has {} bytes, and {} of shape".format(key, entry.size, entry.shape))
        length = max(1, BLOCK_BYTES // entry.dtype.itemsize)
        with open(self._data(entry), "rb") as file:
            file.seek(entry.offset)
            while True:
                count = min(left, length)
                data = file.read(count * entry.dtype.itemsize)
                if len(data) < count * entry.dtype.itemsize:
                    raise ArgumentError("{} ends early".format(self._data(entry)))
                yield np.frombuffer(data, entry.dtype)
                left -= count
                if not left:
                    return

    def _data(self, entry: Entry) -> str:
        return "{}.data-{:05d}-of-{:05d}".format(self._prefix, entry.shard, self._shards)


def _entry(values: Dict[int, Any], order: str) -> Entry:
    shape = fields(values[2][-1]) if 2 in values else {}
    code = _DTYPES.get(integer(values, 1))
    return Entry(
        shape=tuple(integer(fields(axis), 1) for axis in shape.get(2, [])),
        dtype=None if code is None else np.dtype(order + code),
        is_sliced=7 in values,
        shard=integer(values, 3),
        offset=integer(values, 4),
        size=integer(values, 5),
    )
