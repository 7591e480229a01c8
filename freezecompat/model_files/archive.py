"""A member of a zip archive as a file that can be read from here and there."""

import io
import os
import shutil
import struct
import tempfile
import zipfile
from typing import Any, BinaryIO

_HEADER = 30  # bytes before the name of a member, which stands before its data once more


def member(archive: zipfile.ZipFile, name: str) -> Any:
    """Open a member: in its place where it is stored as it is, else unpacked into a temporary file."""
    info = archive.getinfo(name)
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        file = open(str(archive.filename), "rb")
        file.seek(info.header_offset)
        lengths = struct.unpack_from("<HH", file.read(_HEADER), 26)
        return _Part(file, info.header_offset + _HEADER + sum(lengths), info.file_size)
    unpacked = tempfile.TemporaryFile()
    with archive.open(name) as packed:
        shutil.copyfileobj(packed, unpacked, 2**20)
    return unpacked


class _Part(io.RawIOBase):
    """A part of a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._place = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._start + self._place)
        count = self._file.readinto(memoryview(buffer)[: max(0, self._size - self._place)])  # type: ignore[attr-defined]
        self._place += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
