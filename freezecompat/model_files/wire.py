"""Protocol buffers, as far as checkpoints need them: the fields of a message, without its definition.

https://protobuf.dev/programming-guides/encoding
"""

import struct
from typing import Any, Dict, List, Tuple

from ..exceptions import ArgumentError


def varint(data: bytes, place: int) -> Tuple[int, int]:
    """A number of any length, and the place behind it."""
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise ArgumentError("a number in it has no end")
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def fields(message: bytes) -> Dict[int, List[Any]]:
    """`{number of the field: its values}`; numbers as int, texts and messages as bytes.

    Example:
        >>> fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69]))
        {1: [150], 2: [b'hi']}
    """
    found: Dict[int, List[Any]] = {}
    place = 0
    while place < len(message):
        tag, place = varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = varint(message, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, place = struct.unpack_from("<Q" if kind == 1 else "<I", message, place)[0], place + size
        elif kind == 2:
            size, place = varint(message, place)
            value, place = message[place : place + size], place + size
            if place > len(message):
                raise ArgumentError("a message in it ends early")
        else:
            raise ArgumentError("a message in it has a field of kind {}".format(kind))
        found.setdefault(tag >> 3, []).append(value)
    return found


def text(values: Dict[int, List[Any]], number: int) -> str:
    """A field of text, "" where it is not there."""
    return values[number][-1].decode("utf-8") if number in values else ""


def integer(values: Dict[int, List[Any]], number: int) -> int:
    """A field that is a number, 0 where it is not there."""
    return values[number][-1] if number in values else 0
