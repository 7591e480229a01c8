"""The elements of one weight that a spec selects: one immutable type, whatever form the set has inside."""

from typing import Any, Iterable, Iterator, Sequence, Tuple

import numpy as np

from .exceptions import ArgumentError, ElementIndexError

Shape = Tuple[int, ...]

_INDEX_BYTES = np.dtype(np.int64).itemsize
_BLOCK = 2**16


class ElementSet:
    """An immutable set of elements of a weight of one shape.

    Inside it holds sorted flat indices or a dense bool array, whichever takes fewer bytes. Which one depends on the
    shape and the number of elements alone, so equal sets have equal forms; nobody outside needs to know.

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

    __slots__ = ("_shape", "_size", "_count", "_indices", "_dense")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, shape: Shape, indices: Any = None, dense: Any = None) -> None:
        """Hold one of two arrays that are the set's own from now on; the classmethods are the way to make a set.

        Args:
            shape: shape of the weight.
            indices: int64 array (count,), sorted, unique and in range.
            dense: bool array of `shape`, True = in the set.
        """
        self._shape = tuple(shape)
        self._size = _size(self._shape)
        self._count = int(np.count_nonzero(dense)) if indices is None else len(indices)
        self._indices: Any = None
        self._dense: Any = None
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
        return cls(tuple(shape), dense=np.ones(tuple(shape), bool))

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
            The set; a dense temporary is made only where the set itself is dense.

        Example:
            >>> ElementSet.from_axes((4, 3), [range(1, 3), [0, 2]]).positions().tolist()
            [[1, 0], [1, 2], [2, 0], [2, 2]]
        """
        shape = tuple(shape)
        columns = [_column(axis) for axis in axes]
        if _size(tuple(len(column) for column in columns)) * _INDEX_BYTES >= _size(shape):
            dense = np.zeros(shape, bool)
            dense[np.ix_(*columns)] = True
            return cls(shape, dense=dense)
        flat = np.zeros(1, np.int64)
        for length, column in zip(shape, columns):
            flat = (flat[:, None] * length + column).reshape(-1)
        return cls(shape, indices=flat)

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
        flat = self._indices if self._indices is not None else np.flatnonzero(self._dense).astype(np.int64)
        return _read_only(flat)

    def flat_blocks(self) -> Iterator[np.ndarray]:
        """Give the flat indices part by part, so that a large set takes no memory beside its own.

        Yields:
            Read-only int64 arrays; one after the other they are `flat()`.

        Example:
            >>> [block.tolist() for block in ElementSet.from_flat((4, 3), [5, 10]).flat_blocks()]
            [[5, 10]]
        """
        few = self._count * _INDEX_BYTES < self._size
        held = self.flat() if few else self.dense().reshape(-1)
        for start in range(0, len(held), _BLOCK):
            block = held[start : start + _BLOCK]
            yield block if few else _read_only(np.flatnonzero(block).astype(np.int64) + start)

    def dense(self) -> np.ndarray:
        """Return the set as a mask.

        Returns:
            Read-only bool array of the weight's shape, True = in the set.

        Example:
            >>> ElementSet.from_flat((2, 2), [3]).dense().tolist()
            [[False, False], [False, True]]
        """
        return _read_only(self._dense if self._dense is not None else _scatter(self._shape, self._indices))

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
        return np.isin(flat, self._indices) if self._dense is None else self._dense.reshape(-1)[flat]

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
        if self._indices is not None:
            return bool(np.array_equal(self._indices, other._indices))
        return bool(np.array_equal(self._dense, other._dense))

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

    def _combine(self, other: Any, of_indices: Any, of_masks: Any) -> Any:
        """Apply the index form of an operation where both sets have indices, else its mask form."""
        if not isinstance(other, ElementSet):
            return NotImplemented
        if self._shape != other._shape:
            raise ArgumentError(
                "sets of weights of shape {} and {} can't be combined".format(self._shape, other._shape)
            )
        if self._indices is not None and other._indices is not None:
            return ElementSet(self._shape, indices=of_indices(self._indices, other._indices))
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


def _scatter(shape: Shape, indices: np.ndarray) -> np.ndarray:
    dense = np.zeros(shape, bool)
    dense.reshape(-1)[indices] = True
    return dense


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view
