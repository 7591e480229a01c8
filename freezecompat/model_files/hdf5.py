"""HDF5 files: opened with h5py, read in blocks."""

from typing import Any, Iterator, List

import numpy as np

from ..exceptions import MissingDependency
from .base import BLOCK_BYTES, slabs


def open_file(path_or_file: Any) -> Any:
    """Open an HDF5 file for reading.

    Raises:
        MissingDependency: h5py is not installed.
        OSError: there is no such file, or it is none.
    """
    try:
        import h5py
    except ImportError:
        raise MissingDependency('HDF5 files need h5py: pip install "freezecompat[files]"') from None
    return h5py.File(path_or_file, "r")


def is_dataset(obj: Any) -> bool:
    """True for an array in a file, False for a group."""
    return hasattr(obj, "dtype")


def text(value: Any) -> str:
    """A text as h5py gives it, which changed from version to version (can go with h5py 2)."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def texts(attributes: Any, name: str) -> List[str]:
    """A list of texts that Keras has written, in parts where it is long: `name0`, `name1`, ..."""
    if name in attributes:
        return [text(value) for value in attributes[name]]
    found: List[str] = []
    k = 0
    while name + str(k) in attributes:
        found.extend(text(value) for value in attributes[name + str(k)])
        k += 1
    return found


def blocks(dataset: Any) -> Iterator[np.ndarray]:
    """The values in C order, as arrays of rank 1."""
    length = max(1, BLOCK_BYTES // max(1, dataset.dtype.itemsize))
    if dataset.size <= length:
        yield np.asarray(dataset[()]).reshape(-1)
        return
    for place in slabs(dataset.shape, length):
        yield np.asarray(dataset[place]).reshape(-1)
