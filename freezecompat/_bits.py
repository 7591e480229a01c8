"""Which numbers of two arrays differ in their bits."""

import numpy as np


def different_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """True where the bytes of two arrays of one dtype and shape differ: a NaN equals itself, -0.0 differs from 0.0.

    Example:
        >>> different_bits(np.array([0.0, 0.0, np.nan]), np.array([-0.0, 0.0, np.nan]))
        array([ True, False, False])
    """
    return (_bytes(a) != _bytes(b)).any(-1)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8).reshape(array.shape + (array.dtype.itemsize,))
