"""The sorted table in which TensorFlow keeps what a checkpoint holds: LevelDB's format.

https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

import struct
from typing import Iterator, Tuple

from ..exceptions import ArgumentError
from .wire import varint

#: How every table ends.
MAGIC = bytes.fromhex("57fb808b247547db")

_FOOTER = 48


def entries(data: bytes) -> Iterator[Tuple[bytes, bytes]]:
    """Keys and values of a table, in order."""
    if len(data) < _FOOTER or not data.endswith(MAGIC):
        raise ArgumentError("it is no table of TensorFlow")
    footer = data[-_FOOTER:]
    place = 0
    for _ in range(2):  # the place of a list of further blocks, which is empty
        _, place = varint(footer, place)
    for _, handle in _block(data, *_place(footer[place:])):
        yield from _block(data, *_place(handle))


def _place(handle: bytes) -> Tuple[int, int]:
    offset, place = varint(handle, 0)
    return offset, varint(handle, place)[0]


def _block(data: bytes, offset: int, size: int) -> Iterator[Tuple[bytes, bytes]]:
    """The entries of a block; a key is written as what it does not share with the one before."""
    block = data[offset : offset + size]
    if offset + size >= len(data) or size < 4:
        raise ArgumentError("it ends early")
    if data[offset + size]:
        raise ArgumentError("it is compressed")
    end = size - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    key, place = b"", 0
    while place < end:
        shared, place = varint(block, place)
        own, place = varint(block, place)
        length, place = varint(block, place)
        key = key[:shared] + block[place : place + own]
        yield key, block[place + own : place + own + length]
        place += own + length
