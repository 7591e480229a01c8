"""Files of numpy: .npz archives and .npy files; a block of values is in memory at a time, and no pickle is read."""

import os
import zipfile
from typing import IO, Any, Iterator, NamedTuple, Tuple

import numpy as np

from ..exceptions import ArgumentError
from ..resolve import Weight, as_weights
from .base import BLOCK_BYTES, ModelFile, dtype_name, reading

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _Header(NamedTuple):
    shape: Tuple[int, ...]
    fortran_order: bool
    dtype: Any


def open_npz(path: str) -> ModelFile:
    """Read the names, shapes and dtypes of an archive.

    Raises:
        ArgumentError: there is none, or it is broken.
    """
    rows = []
    with reading(path), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as file:
                    rows.append(_row(name[: -len(".npy")], _header(file)))

    def blocks(address: str) -> Iterator[np.ndarray]:
        with zipfile.ZipFile(path) as archive, archive.open(address + ".npy") as file:
            yield from _values(file)

    return ModelFile(path, as_weights(rows), blocks)


def open_npy(path: str) -> ModelFile:
    """Read the shape and dtype of one array.

    Raises:
        ArgumentError: there is none, or it is broken.
    """
    with reading(path), open(path, "rb") as file:
        row = _row(os.path.splitext(os.path.basename(path))[0], _header(file))

    def blocks(address: str) -> Iterator[np.ndarray]:
        with open(path, "rb") as file:
            yield from _values(file)

    return ModelFile(path, as_weights([row]), blocks)


def _header(file: IO[bytes]) -> _Header:
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ArgumentError("an array of .npy version {}.{} is no plain one".format(*version))
    header = _Header(*_HEADERS[version](file))
    if header.dtype.hasobject or header.dtype.names:
        raise ArgumentError("an array of {} has no plain values".format(header.dtype))
    return header


def _row(address: str, header: _Header) -> Weight:
    layer, _, role = address.rpartition("/")
    return Weight(address, header.shape, dtype_name(header.dtype), layer=layer, role=role)


def _values(file: IO[bytes]) -> Iterator[np.ndarray]:
    header = _header(file)
    size = int(np.prod(header.shape, dtype=np.int64))
    if header.fortran_order:  # C order needs all of it
        yield _block(file, size, header.dtype).reshape(header.shape[::-1]).T.reshape(-1)
        return
    length = max(1, BLOCK_BYTES // max(1, header.dtype.itemsize))
    for start in range(0, max(1, size), length):  # an empty weight gives one empty block
        yield _block(file, min(length, size - start), header.dtype)


def _block(file: IO[bytes], length: int, dtype: Any) -> np.ndarray:
    data = file.read(length * dtype.itemsize)
    if len(data) != length * dtype.itemsize:
        raise ArgumentError("an array ends {} bytes early".format(length * dtype.itemsize - len(data)))
    return np.frombuffer(data, dtype)
