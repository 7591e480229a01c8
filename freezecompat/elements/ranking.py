"""Which elements have the lowest keys, found in passes over pieces of a weight: no sort, no temporary of its size."""

from typing import Callable, Iterator, Tuple

import numpy as np

_PIECE = 1 << 17
_DIGIT = 16  # bits that one pass decides


def pieces(size: int) -> Iterator[Tuple[int, int]]:
    """Cut `size` elements into pieces: (start, stop) of each.

    Example:
        >>> list(pieces(3))
        [(0, 3)]
    """
    for start in range(0, size, _PIECE):
        yield start, min(start + _PIECE, size)


def lowest(keys: Callable[[int, int], np.ndarray], size: int, count: int) -> np.ndarray:
    """Find the elements with the `count` lowest keys; among equal keys those of the lower index.

    Args:
        keys: function of start and stop that gives unsigned ints, one for each of those elements.
        size: number of elements.
        count: how many, from 0 to `size`.

    Returns:
        Bool array (size,).

    Example:
        >>> keys = np.array([3, 1, 1, 2], np.uint16)
        >>> lowest(lambda start, stop: keys[start:stop], 4, 2).tolist()
        [False, True, True, False]
    """
    chosen = np.zeros(size, bool)
    if not count:
        return chosen
    threshold, ties = _threshold(keys, size, count)
    for start, stop in pieces(size):
        piece = keys(start, stop)
        chosen[start:stop] = piece < threshold
        equal = np.flatnonzero(piece == threshold)[:ties]
        chosen[start + equal] = True
        ties -= len(equal)
    return chosen


def _threshold(keys: Callable[[int, int], np.ndarray], size: int, count: int) -> Tuple[np.generic, int]:
    """The key of the last element that is taken, and how many of that key are.

    Digit by digit, the highest first, until the keys that begin so are few enough to be sorted.
    """
    dtype = keys(0, 1).dtype
    found = 0
    for shift in range(8 * dtype.itemsize - _DIGIT, -1, -_DIGIT):
        counts = np.zeros(1 << _DIGIT, np.int64)
        for piece in _beginning_with(keys, size, found, shift + _DIGIT):
            digits = (piece >> dtype.type(shift)) & dtype.type((1 << _DIGIT) - 1)
            counts += np.bincount(digits.astype(np.intp), minlength=1 << _DIGIT)
        below = np.cumsum(counts)
        digit = int(np.searchsorted(below, count))
        count -= int(below[digit] - counts[digit])
        found = found << _DIGIT | digit
        if shift and counts[digit] <= _PIECE:
            few = np.sort(np.concatenate(list(_beginning_with(keys, size, found, shift))))
            return few[count - 1], count - int(np.searchsorted(few, few[count - 1]))
    return dtype.type(found), count


def _beginning_with(
    keys: Callable[[int, int], np.ndarray], size: int, start_bits: int, shift: int
) -> Iterator[np.ndarray]:
    """The keys, piece by piece, whose bits from `shift` on are those."""
    for start, stop in pieces(size):
        piece = keys(start, stop)
        if shift < 8 * piece.dtype.itemsize:
            piece = piece[piece >> piece.dtype.type(shift) == piece.dtype.type(start_bits)]
        yield piece
