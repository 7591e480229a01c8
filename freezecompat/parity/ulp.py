"""How far apart two floats are, counted in floats."""

from typing import Any, List

import numpy as np

_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}

#: Between a NaN and a number: further than any two numbers are apart.
NOT_COMPARABLE = int(np.iinfo(np.uint64).max)


def ulp_distance(a: Any, b: Any) -> np.ndarray:
    """Count the steps from one representable float to the next that lie between `a` and `b`, element by element.

    The bits of IEEE 754 floats of one sign, read as an integer, are in the order of the floats, so that a difference of
    those integers is the number of steps; negative ones are counted down from zero. -0.0 and 0.0 are 0 apart, two NaNs
    too, infinity is one step from the largest number, and a NaN is `NOT_COMPARABLE` from a number. Source: B. Dawson,
    "Comparing Floating Point Numbers, 2012 Edition"; `numpy.testing.assert_array_max_ulp` counts alike.

    Example:
        >>> a = np.array([1.0, 1.0, -0.0], np.float32)
        >>> ulp_distance(a, np.array([1.0, 1.0000001, 0.0], np.float32))
        array([0, 1, 0], dtype=uint64)

    Args:
        a: array of float16, float32 or float64.
        b: array of the same dtype and shape.

    Returns:
        uint64 array of that shape.

    Raises:
        TypeError: the dtypes differ, or are no such floats.
        ValueError: the shapes differ.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.dtype.itemsize not in _UNSIGNED:
        raise TypeError(
            "ulp_distance compares float16, float32 or float64 with its own, not {} with {}".format(a.dtype, b.dtype)
        )
    if a.shape != b.shape:
        raise ValueError("ulp_distance compares arrays of one shape, not {} with {}".format(a.shape, b.shape))
    first, second = _ordered(a), _ordered(b)
    distance = np.where(first > second, first - second, second - first)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    distance = np.where(nan_a & nan_b, np.uint64(0), distance)
    return np.where(nan_a ^ nan_b, np.uint64(NOT_COMPARABLE), distance)


def _ordered(floats: np.ndarray) -> np.ndarray:
    """uint64 in the order of the floats, zero in the middle."""
    bits = floats.astype(floats.dtype.newbyteorder("="), copy=False).view(_UNSIGNED[floats.dtype.itemsize])
    middle = np.uint64(1 << (8 * floats.dtype.itemsize - 1))
    size = bits.astype(np.uint64) & (middle - np.uint64(1))
    return np.where(np.signbit(floats), middle - size, middle + size)


def hex_bits(floats: np.ndarray) -> List[str]:
    """The bits of each float in C order, as hexadecimal text.

    Example:
        >>> hex_bits(np.array([1.0, -0.0], np.float32))
        ['3f800000', '80000000']
    """
    size = floats.dtype.itemsize
    big_endian = np.ascontiguousarray(floats, floats.dtype.newbyteorder(">")).tobytes()
    return [big_endian[k : k + size].hex() for k in range(0, len(big_endian), size)]
