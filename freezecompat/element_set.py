"""The elements of one weight that a spec selects: one immutable type, whatever form the set has inside."""

from typing import Any, Iterable, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from .exceptions import ArgumentError, ElementIndexError

Shape = Tuple[int, ...]
Axis = Union[range, np.ndarray]  # indices of one axis, ascending: a range with a positive step, or int64

_INDEX_BYTES = np.dtype(np.int64).itemsize
_BLOCK = 2**16


class ElementSet:
    """An immutable set of elements of a weight of one shape.

    Inside it holds sorted flat indices, a dense bool array, or the indices along each axis, as it was made; `compact` gives
    the form with the fewest bytes. Nobody outside needs to know.

    Example:
        >>> a = ElementSet.from_flat((4, 3), [5, 10])
        >>> a
        ElementSet(2 of 12, shape (4, 3))
        >>> a.positions().tolist()
        [[1, 2], [3, 1]]
        >>> (~a).count
        10
        >>> (a | ~a) == ElementSet.full((4, 3))
        True
    """

    __slots__ = ("_shape", "_size", "_count", "_indices", "_dense", "_axes")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Shape, indices: Any = None, dense: Any = None, axes: Optional[Tuple[Axis, ...]] = None
    ) -> None:
        """Hold one of three forms that is the set's own from now on; the classmethods are the way to make a set.

        Args:
            shape: shape of the weight.
            indices: int64 array (count,), sorted, unique and in range.
            dense: bool array of `shape`, True = in the set.
            axes: for each axis its indices; the set has all their combinations.
        """
        self._shape = tuple(shape)
        self._size = _size(self._shape)
        self._indices, self._dense, self._axes = indices, dense, axes
        if axes is not None:
            self._count = _size(tuple(map(len, axes)))
        else:
            self._count = int(np.count_nonzero(dense)) if indices is None else len(indices)

    @property
    def _is_small(self) -> bool:
        """True where flat indices take fewer bytes than a mask."""
        return self._count * _INDEX_BYTES < self._size

    @classmethod
    def empty(cls, shape: Sequence[int]) -> "ElementSet":
        """Make the set of no element.

        Args:
            shape: shape of the weight.

        Returns:
            The empty set.

        Example:
            >>> bool(ElementSet.empty((4, 3)))
            False
        """
        return cls(tuple(shape), indices=np.zeros(0, np.int64))

    @classmethod
    def full(cls, shape: Sequence[int]) -> "ElementSet":
        """Make the set of every element.

        Args:
            shape: shape of the weight; `()` for a scalar, which has one element.

        Returns:
            The full set.

        Example:
            >>> ElementSet.full(())
            ElementSet(1 of 1, shape ())
        """
        return cls(tuple(shape), axes=tuple(map(range, shape)))

    @classmethod
    def from_flat(cls, shape: Sequence[int], indices: Iterable[int]) -> "ElementSet":
        """Make a set from flat indices in C order.

        Args:
            shape: shape of the weight.
            indices: ints from 0 to size - 1, in any order; duplicates count once.

        Returns:
            The set.

        Raises:
            ElementIndexError: an index is out of range.

        Example:
            >>> ElementSet.from_flat((4, 3), [5, 5]).flat().tolist()
            [5]
        """
        shape = tuple(shape)
        flat = np.unique(np.asarray(indices, dtype=np.int64))
        if len(flat) and (flat[0] < 0 or flat[-1] >= _size(shape)):
            bad = int(flat[0]) if flat[0] < 0 else int(flat[-1])
            raise ElementIndexError(
                "flat index {} is out of range for a weight of shape {} ({} elements)".format(bad, shape, _size(shape))
            )
        return cls(shape, indices=flat)

    @classmethod
    def from_dense(cls, mask: np.ndarray) -> "ElementSet":
        """Make a set from a mask, which is copied.

        Args:
            mask: bool array of the weight's shape, True = in the set.

        Returns:
            The set.

        Example:
            >>> ElementSet.from_dense(np.array([[True, False]])).count
            1
        """
        dense = np.array(mask, dtype=bool)
        return cls(dense.shape, dense=dense)

    @classmethod
    def from_axes(cls, shape: Sequence[int], axes: Sequence[Sequence[int]]) -> "ElementSet":
        """Make the set of all combinations of the given indices of each axis.

        Args:
            shape: shape of the weight.
            axes: for each axis its indices, in range and not negative, in any order.

        Returns:
            The set.

        Example:
            >>> ElementSet.from_axes((4, 3), [range(1, 3), [0, 2]]).positions().tolist()
            [[1, 0], [1, 2], [2, 0], [2, 2]]
        """
        return cls(tuple(shape), axes=tuple(map(_ascending, axes)))

    @classmethod
    def union(cls, shape: Sequence[int], sets: Iterable["ElementSet"]) -> "ElementSet":
        """Unite any number of sets, which are taken one at a time.

        Args:
            shape: shape of the weight.
            sets: sets of that shape; from a generator, no more than one mask beside the result is in memory.

        Returns:
            The set of what is in any of them.

        Example:
            >>> ElementSet.union((9,), (ElementSet.from_flat((9,), [k]) for k in (5, 2))).flat().tolist()
            [2, 5]
        """
        united, mask = cls.empty(shape), None
        for one in sets:
            if mask is not None:
                one._add_to(mask)
            elif one._has_few and united._has_few:
                united = united | one
            else:
                mask = one.new_dense()
                united._add_to(mask)
            del one  # not in memory while the next one is made
        return united if mask is None else cls(united._shape, dense=mask)

    @property
    def shape(self) -> Shape:
        """The shape of the weight."""
        return self._shape

    @property
    def size(self) -> int:
        """How many elements the weight has."""
        return self._size

    @property
    def count(self) -> int:
        """How many elements are in the set."""
        return self._count

    def flat(self) -> np.ndarray:
        """Return the flat indices.

        Returns:
            Read-only int64 array (count,), sorted, in C order.

        Example:
            >>> ElementSet.from_dense(np.array([[True, False], [True, True]])).flat().tolist()
            [0, 2, 3]
        """
        if self._indices is not None:
            return _read_only(self._indices)
        if self._dense is not None:
            return _read_only(np.flatnonzero(self._dense).astype(np.int64, copy=False))
        flat = np.zeros(1, np.int64)
        for length, axis in zip(self._shape, self._axes):
            flat = (flat[:, None] * length + np.asarray(axis, np.int64)).reshape(-1)
        return _read_only(flat)

    def flat_blocks(self) -> Iterator[np.ndarray]:
        """Give the flat indices part by part, so that a large set takes no memory beside its own.

        Yields:
            Read-only int64 arrays; one after the other they are `flat()`.

        Example:
            >>> [block.tolist() for block in ElementSet.from_flat((4, 3), [5, 10]).flat_blocks()]
            [[5, 10]]
        """
        if self._is_small:
            flat = self.flat()
            for start in range(0, len(flat), _BLOCK):
                yield flat[start : start + _BLOCK]
            return
        for start in range(0, self._size, _BLOCK):
            block = np.arange(start, min(start + _BLOCK, self._size), dtype=np.int64)
            yield _read_only(block[self.contains(block)])

    def dense(self) -> np.ndarray:
        """Return the set as a mask.

        Returns:
            Read-only bool array of the weight's shape, True = in the set.

        Example:
            >>> ElementSet.from_flat((2, 2), [3]).dense().tolist()
            [[False, False], [False, True]]
        """
        return _read_only(self._dense if self._dense is not None else self.new_dense())

    def new_dense(self) -> np.ndarray:
        """Return the set as a mask of the caller's own.

        Returns:
            Bool array of the weight's shape, True = in the set.

        Example:
            >>> mask = ElementSet.from_flat((3,), [2]).new_dense()
            >>> mask[0] = True
            >>> mask.tolist()
            [True, False, True]
        """
        if self._dense is not None:
            return np.array(self._dense)
        mask = np.zeros(self._shape, bool)
        self._add_to(mask)
        return mask

    def into_dense(self) -> np.ndarray:
        """Return the set as a mask of the caller's own, without a copy where the set is one; the set is used up.

        Returns:
            Bool array of the weight's shape, True = in the set.

        Example:
            >>> ElementSet.from_flat((3,), [2]).into_dense().tolist()
            [False, False, True]
        """
        return self._dense if self._dense is not None else self.new_dense()

    def compact(self) -> "ElementSet":
        """Return the set in the form that takes the fewest bytes, for keeping it.

        Example:
            >>> ElementSet.from_dense(np.arange(100) == 7).compact()
            ElementSet(1 of 100, shape (100,))
        """
        least = min(self._count * _INDEX_BYTES, self._size)
        if self._axes is not None and _bytes(self._axes) <= least:
            return self
        if self._is_small:
            return self if self._indices is not None else ElementSet(self._shape, indices=self.flat())
        return self if self._dense is not None else ElementSet(self._shape, dense=self.new_dense())

    def contains(self, flat: np.ndarray) -> np.ndarray:
        """Say which of some elements are in the set.

        Args:
            flat: int array (n,) of flat indices in C order, in range.

        Returns:
            Bool array (n,), True = in the set.

        Example:
            >>> ElementSet.from_flat((4, 3), [5, 10]).contains(np.array([4, 5])).tolist()
            [False, True]
        """
        if self._dense is not None:
            return self._dense.reshape(-1)[flat]
        if not self:
            return np.zeros(len(flat), bool)
        if self._indices is not None:
            return self._indices[np.searchsorted(self._indices[:-1], flat)] == flat
        found = np.ones(len(flat), bool)
        for length, axis in zip(reversed(self._shape), reversed(self._axes)):
            if len(axis) < length:
                found &= _along(axis, length)[flat % length]
            flat = flat // length
        return found

    def positions(self) -> np.ndarray:
        """Return the full index of each element.

        Returns:
            Int64 array (count, rank), in C order.

        Example:
            >>> ElementSet.from_flat((4, 3), [10]).positions().tolist()
            [[3, 1]]
        """
        rest = self.flat()
        columns = np.zeros((len(rest), len(self._shape)), np.int64)
        if len(rest):
            for axis in reversed(range(len(self._shape))):
                columns[:, axis] = rest % self._shape[axis]
                rest = rest // self._shape[axis]
        return columns

    def __bool__(self) -> bool:
        return self.count > 0

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, ElementSet):
            return NotImplemented
        if self._shape != other._shape or self.count != other.count:
            return False
        if self._is_small:
            return bool(np.array_equal(self.flat(), other.flat()))
        return bool(np.array_equal(self.dense(), other.dense()))

    def __or__(self, other: Any) -> Any:
        return self._combine(other, np.union1d, np.logical_or)

    def __and__(self, other: Any) -> Any:
        return self._combine(other, np.intersect1d, np.logical_and)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, np.setdiff1d, np.greater)

    def __xor__(self, other: Any) -> Any:
        return self._combine(other, np.setxor1d, np.logical_xor)

    def __invert__(self) -> "ElementSet":
        mask = np.ones(self._shape, bool)
        self._add_to(mask, False)
        return ElementSet(self._shape, dense=mask).compact()

    def __repr__(self) -> str:
        return "ElementSet({} of {}, shape {})".format(self.count, self._size, self._shape)

    def _combine(self, other: Any, of_indices: Any, of_masks: Any) -> Any:
        """Apply the index form of an operation where both sets have indices, else its mask form."""
        if not isinstance(other, ElementSet):
            return NotImplemented
        if self._shape != other._shape:
            raise ArgumentError(
                "sets of weights of shape {} and {} can't be combined".format(self._shape, other._shape)
            )
        if not self or not other:  # what is done with an element of one of them alone; a set keeps its form, a slice is one
            left = (self and of_masks(True, False)) or (other and of_masks(False, True))
            return (self or other) if left else ElementSet.empty(self._shape)
        if self._has_few and other._has_few:
            return ElementSet(self._shape, indices=of_indices(self.flat(), other.flat()))
        return ElementSet(self._shape, dense=of_masks(self.dense(), other.dense())).compact()

    @property
    def _has_few(self) -> bool:
        """True where flat indices are at hand and take fewer bytes than a mask."""
        return self._dense is None and self._is_small

    def _add_to(self, mask: np.ndarray, value: bool = True) -> None:
        """Set the elements in a mask."""
        if self._dense is not None:
            (np.logical_or if value else np.greater)(mask, self._dense, out=mask)
        elif self._indices is not None:
            mask.reshape(-1)[self._indices] = value
        elif all(isinstance(axis, range) for axis in self._axes):
            mask[tuple(slice(axis.start, axis.stop, axis.step) for axis in self._axes)] = value
        else:
            mask[np.ix_(*[np.asarray(axis, np.int64) for axis in self._axes])] = value


def _size(shape: Shape) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _bytes(axes: Sequence[Axis]) -> int:
    return sum(0 if isinstance(axis, range) else len(axis) * _INDEX_BYTES for axis in axes)


def _ascending(axis: Sequence[int]) -> Axis:
    """The indices of one axis, sorted and unique; a range stays one."""
    if isinstance(axis, range):
        return axis if axis.step > 0 else axis[::-1]
    return np.unique(np.asarray(axis, dtype=np.int64))


def _along(axis: Axis, length: int) -> np.ndarray:
    """Bool array (length,), True = in the axis."""
    mask = np.zeros(length, bool)
    mask[np.asarray(axis, np.int64)] = True
    return mask


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view
