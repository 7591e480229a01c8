"""The elements of one weight that a spec selects: one immutable type, whatever form the set has inside."""

from typing import Any, Iterable, Sequence, Tuple

import numpy as np

from .exceptions import ArgumentError, ElementIndexError

Shape = Tuple[int, ...]

_INDEX_BYTES = np.dtype(np.int64).itemsize


class ElementSet:
    """An immutable set of elements of a weight of one shape.

    Inside it holds sorted flat indices or a dense bool array, whichever takes fewer bytes. Which one depends on the
    shape and the number of elements alone, so equal sets have equal forms; nobody outside needs to know. A set that is
    made of the indices of each axis holds these, until one of the two is asked for.

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

    def __init__(self, shape: Shape, indices: Any = None, dense: Any = None, axes: Any = None) -> None:
        """Hold one of three forms that are the set's own from now on; the classmethods are the way to make a set.

        Args:
            shape: shape of the weight.
            indices: int64 array (count,), sorted, unique and in range.
            dense: bool array of `shape`, True = in the set.
            axes: for each axis an int64 array of its indices, sorted, unique and in range.
        """
        self._shape = tuple(shape)
        self._size = _size(self._shape)
        self._indices: Any = None
        self._dense: Any = None
        self._axes = axes
        if axes is None:
            self._hold(indices, dense)
        else:
            self._count = _size(tuple(len(column) for column in axes))

    def _hold(self, indices: Any, dense: Any) -> None:
        self._count = int(np.count_nonzero(dense)) if indices is None else len(indices)
        if self._count * _INDEX_BYTES < self._size:
            self._indices = np.flatnonzero(dense).astype(np.int64) if indices is None else indices
        else:
            self._dense = _scatter(self._shape, indices) if dense is None else dense

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
        return cls(tuple(shape), dense=np.broadcast_to(np.True_, tuple(shape)))  # one byte in memory

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
            The set; neither a mask nor flat indices are made before they are asked for.

        Example:
            >>> ElementSet.from_axes((4, 3), [range(1, 3), [0, 2]]).positions().tolist()
            [[1, 0], [1, 2], [2, 0], [2, 2]]
        """
        return cls(tuple(shape), axes=[_column(axis) for axis in axes])

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
        indices, dense = self._form()
        return _read_only(indices if indices is not None else np.flatnonzero(dense).astype(np.int64))

    def dense(self) -> np.ndarray:
        """Return the set as a mask.

        Returns:
            Read-only bool array of the weight's shape, True = in the set.

        Example:
            >>> ElementSet.from_flat((2, 2), [3]).dense().tolist()
            [[False, False], [False, True]]
        """
        indices, dense = self._form()
        return _read_only(dense if dense is not None else _scatter(self._shape, indices))

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
        if not self:
            return np.zeros(len(flat), bool)
        if self._dense is not None:
            return self._dense.reshape(-1)[flat]
        if self._indices is None:
            return self._axes_contain(flat)
        return self._indices[np.searchsorted(self._indices[:-1], flat)] == flat

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
        (indices, dense), (others, other_dense) = self._form(), other._form()
        return bool(np.array_equal(dense, other_dense) if indices is None else np.array_equal(indices, others))

    def __or__(self, other: Any) -> Any:
        return self._combine(other, np.union1d, np.logical_or)

    def __and__(self, other: Any) -> Any:
        return self._combine(other, np.intersect1d, np.logical_and)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, np.setdiff1d, np.greater)

    def __xor__(self, other: Any) -> Any:
        return self._combine(other, np.setxor1d, np.logical_xor)

    def __invert__(self) -> "ElementSet":
        return ElementSet(self._shape, dense=~self.dense())

    def __repr__(self) -> str:
        return "ElementSet({} of {}, shape {})".format(self.count, self._size, self._shape)

    def _form(self) -> Tuple[Any, Any]:
        """Flat indices or a mask; the other is None."""
        if self._indices is None and self._dense is None:
            if self._count * _INDEX_BYTES < self._size:
                self._hold(_crossed(self._shape, self._axes), None)
            else:
                dense = np.zeros(self._shape, bool)
                dense[np.ix_(*self._axes)] = True
                self._hold(None, dense)
        return self._indices, self._dense

    def _axes_contain(self, flat: np.ndarray) -> np.ndarray:
        found = np.ones(len(flat), bool)
        for length, column in zip(reversed(self._shape), reversed(self._axes)):
            chosen = np.zeros(length, bool)
            chosen[column] = True
            found &= chosen[flat % length]
            flat = flat // length
        return found

    def _combine(self, other: Any, of_indices: Any, of_masks: Any) -> Any:
        """Apply the index form of an operation where both sets have indices, else its mask form."""
        if not isinstance(other, ElementSet):
            return NotImplemented
        if self._shape != other._shape:
            raise ArgumentError(
                "sets of weights of shape {} and {} can't be combined".format(self._shape, other._shape)
            )
        (indices, _), (others, _) = self._form(), other._form()
        if indices is not None and others is not None:
            return ElementSet(self._shape, indices=of_indices(indices, others))
        return ElementSet(self._shape, dense=of_masks(self.dense(), other.dense()))


def _size(shape: Shape) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _column(axis: Sequence[int]) -> np.ndarray:
    """Return the indices of one axis, sorted and unique."""
    if isinstance(axis, range):
        ascending = axis if axis.step > 0 else axis[::-1]
        return np.arange(ascending.start, ascending.stop, ascending.step, dtype=np.int64)
    return np.unique(np.asarray(axis, dtype=np.int64))


def _crossed(shape: Shape, axes: Sequence[np.ndarray]) -> np.ndarray:
    """The flat indices of all combinations of indices of each axis, sorted."""
    flat = np.zeros(1, np.int64)
    for length, column in zip(shape, axes):
        flat = (flat[:, None] * length + column).reshape(-1)
    return flat


def _scatter(shape: Shape, indices: np.ndarray) -> np.ndarray:
    dense = np.zeros(shape, bool)
    dense.reshape(-1)[indices] = True
    return dense


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view
