"""Which elements have the lowest keys, found in passes over pieces of a weight: no sort, no temporary of its size."""

import math
from typing import Callable, Iterator, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

_PIECE = 1 << 15  # keys that stay in the cache, and in memory that the allocator has at hand
_FEW = 1 << 16  # keys that are held at once without a second thought, beside a weight of any size
_DIGIT = 8  # bits that one pass decides

Keys = Callable[[Union[slice, np.ndarray]], np.ndarray]


class Threshold(NamedTuple):
    """The key of the last element that is taken, and how many of that key are."""

    key: np.generic
    ties: int


def pieces(size: int) -> Iterator[Tuple[int, int]]:
    """Cut `size` elements into pieces: (start, stop) of each.

    Example:
        >>> list(pieces(3))
        [(0, 3)]
    """
    for start in range(0, size, _PIECE):
        yield start, min(start + _PIECE, size)


def lowest(keys: Keys, size: int, count: int) -> np.ndarray:
    """Find the elements with the `count` lowest keys; among equal keys those of the lower index.

    Args:
        keys: function of flat indices, a slice or an int array, that gives unsigned ints, one for each of those elements.
        size: number of elements.
        count: how many, from 0 to `size`.

    Returns:
        Bool array (size,).

    Example:
        >>> keys = np.array([3, 1, 1, 2], np.uint16)
        >>> lowest(keys.__getitem__, 4, 2).tolist()
        [False, True, True, False]
    """
    chosen = np.zeros(size, bool)
    if not count:
        return chosen
    threshold, ties = _near_sampled(keys, size, count) or _digit_by_digit(keys, size, count)
    for start, stop in pieces(size):
        piece = keys(slice(start, stop))
        np.less(piece, threshold, out=chosen[start:stop])
        if ties:
            equal = np.flatnonzero(piece == threshold)[:ties]
            chosen[start + equal] = True
            ties -= len(equal)
    return chosen


def _near_sampled(keys: Keys, size: int, count: int) -> Optional[Threshold]:
    """The threshold, if it lies where a sample of the keys lets us expect it: one pass over the weight.

    Only the keys between two of the sample are kept; None where they turn out to be many, or the wrong ones.
    """
    drawn = np.random.RandomState(0).randint(0, size, _FEW) if size > _FEW else slice(0, size)
    sample = np.sort(keys(drawn))
    rank, margin = len(sample) * count // size, 3 * int(math.sqrt(len(sample)))
    low = sample[rank - margin] if rank >= margin else sample.dtype.type(0)
    high = sample[rank + margin] if rank + margin < len(sample) else sample.dtype.type(np.iinfo(sample.dtype).max)
    below, found, near = 0, 0, []
    for start, stop in pieces(size):
        piece = keys(slice(start, stop))
        below += np.count_nonzero(piece < low)
        near.append(piece[(piece >= low) & (piece <= high)])
        found += len(near[-1])
        if found > _FEW + size // 16:
            return None
    return _of_few(near, count - below) if below < count <= below + found else None


def _digit_by_digit(keys: Keys, size: int, count: int) -> Threshold:
    """The threshold, its highest digit first, until the keys that begin as it does are few."""
    dtype = keys(slice(0, 1)).dtype
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
        if shift and counts[digit] <= _FEW:
            return _of_few(list(_beginning_with(keys, size, found, shift)), count)
    return Threshold(dtype.type(found), count)


def _of_few(keys: Sequence[np.ndarray], count: int) -> Threshold:
    few = np.concatenate(keys)
    few.partition(count - 1)
    return Threshold(few[count - 1], count - int(np.count_nonzero(few < few[count - 1])))


def _beginning_with(keys: Keys, size: int, start_bits: int, shift: int) -> Iterator[np.ndarray]:
    """The keys, piece by piece, whose bits from `shift` on are those."""
    for start, stop in pieces(size):
        piece = keys(slice(start, stop))
        if shift < 8 * piece.dtype.itemsize:
            piece = piece[piece >> piece.dtype.type(shift) == piece.dtype.type(start_bits)]
        yield piece
