"""Elements by where they stand: an index, a slice, a row, a mask."""

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from .._indexing import (
    as_index,
    check_range,
    flat_indices,
    rank_error,
    ranges_of,
    read_positions,
    read_slices,
    write_slices,
)
from .._mask_file import pack_mask
from .._show import show
from ..element_set import ElementSet
from ..exceptions import ElementIndexError, SpecTypeError, SpecValueError
from ..resolve import Weight
from .base import Element

_MAX_SHOWN = 40


@dataclass(frozen=True)
class Everything(Element):
    """The whole weight; made by `all()` or "all".

    Example:
        >>> all().select(Weight("bias", (3,))).count
        3
    """

    on_layer = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return ElementSet.full(weight.shape)

    def to_json(self) -> str:
        return "all"

    def __repr__(self) -> str:
        return "'all'"

    def expression(self) -> str:
        return "all()"


@dataclass(frozen=True, eq=False)
class Positions(Element):
    """Elements by their full index; made by `positions`, `(1, 2)` or `[(1, 2), (3, 1)]`.

    Example:
        >>> positions([(1, 2), (-1, 1)]).select(Weight("kernel", (4, 3))).positions().tolist()
        [[1, 2], [3, 1]]
    """

    indices: np.ndarray  # int64 (elements, rank), read-only

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        if self.indices.shape[1] != len(weight.shape):
            raise rank_error(self.indices, repr(self), weight.shape)
        return ElementSet.from_flat(weight.shape, flat_indices(self.indices, weight.shape))

    def to_json(self) -> List[Any]:
        plain = self.indices.tolist()
        return [index[0] for index in plain] if self.indices.shape[1] == 1 else plain

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Positions) and bool(np.array_equal(self.indices, other.indices))

    def __hash__(self) -> int:
        return hash((self.indices.shape, self.indices.tobytes()))

    def __repr__(self) -> str:
        count, width = self.indices.shape
        if count * max(width, 1) > _MAX_SHOWN:
            return "positions(<{} of rank {}>)".format(count, width)
        plain = [tuple(index) for index in self.indices.tolist()]
        if count == 1:
            return repr(plain[0])
        return repr(self.to_json() if width == 1 else plain)

    def expression(self) -> str:
        text = repr(self)
        return text if text.startswith("positions") else "positions({})".format(text)


@dataclass(frozen=True)
class Rows(Element):
    """Rows of an embedding table or a matrix; made by `rows`.

    Example:
        >>> rows([0]).select(Weight("embeddings", (5, 2))).flat().tolist()
        [0, 1]
    """

    indices: Tuple[int, ...]

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        if len(weight.shape) < 2:
            raise ElementIndexError(
                "rows need a table or a matrix, but the weight has shape {}; write {} for its elements".format(
                    weight.shape, list(self.indices) if len(self.indices) <= _MAX_SHOWN else "a list of ints"
                )
            )
        chosen = [check_range(index, 0, weight.shape) for index in self.indices]
        return ElementSet.from_axes(weight.shape, [chosen] + [range(length) for length in weight.shape[1:]])

    def to_json(self) -> Dict[str, Any]:
        return {"rows": list(self.indices)}

    def __repr__(self) -> str:
        if len(self.indices) > _MAX_SHOWN:
            return "rows(<{} rows>)".format(len(self.indices))
        return "rows({})".format(list(self.indices))


@dataclass(frozen=True)
class Slices(Element):
    """A slice along each axis; made by `slices`, "1:3, :" or `np.s_[1:3, :]`.

    Example:
        >>> slices("..., 0").select(Weight("kernel", (4, 3))).flat().tolist()
        [0, 3, 6, 9]
    """

    text: str

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return ElementSet.from_axes(weight.shape, ranges_of(read_slices(self.text), weight.shape))

    def to_json(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return repr(self.text)

    def expression(self) -> str:
        return "slices({!r})".format(self.text)


@dataclass(frozen=True, eq=False)
class Mask(Element):
    """A bool for each element; made by `mask` or a bool array.

    Example:
        >>> mask(np.array([True, False])).to_json()
        {'shape': [2], 'bits': 'gA=='}
    """

    array: np.ndarray  # bool, read-only

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        if self.array.shape != weight.shape:
            raise SpecValueError(
                "the mask has shape {}, but the weight has shape {}; a mask has exactly the weight's shape".format(
                    self.array.shape, weight.shape
                )
            )
        return ElementSet.from_dense(self.array)

    def to_json(self) -> Dict[str, Any]:
        return {"shape": list(self.array.shape), "bits": pack_mask(self.array)}

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Mask) and bool(np.array_equal(self.array, other.array))

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    def __repr__(self) -> str:
        if 0 < self.array.size <= _MAX_SHOWN:
            return "mask(np.array({}))".format(self.array.tolist())
        return "mask(<{} of {}, shape {}>)".format(int(self.array.sum()), self.array.size, self.array.shape)


def all() -> Everything:  # the name that a spec uses; nothing here needs the built-in
    """Select the whole weight; with a glob or a layer's address, all trainable ones.

    Returns:
        The element description.

    Example:
        >>> all()
        'all'
    """
    return Everything()


def positions(indices: Any) -> Positions:
    """Select elements by their full index.

    Args:
        indices: `(1, 2)` for one; a list or tuple of such, or an int array (elements, rank); on a weight of rank 1 also
            a list of ints; or the tuple of arrays that `np.nonzero` gives. Negative ones count from the end.

    Returns:
        The element description.

    Raises:
        SpecTypeError: an index is no int, or it is something else.
        SpecValueError: no index at all.

    Example:
        >>> positions(np.array([[1, 2], [3, 1]]))
        [(1, 2), (3, 1)]
    """
    if isinstance(indices, Positions):
        return indices
    if (
        not isinstance(indices, (list, tuple, np.ndarray))
        or getattr(indices, "dtype", int) == bool
        or has_slice(indices)
    ):
        raise SpecTypeError("positions are full indices such as [(1, 2), (3, 1)], received {}".format(show(indices)))
    return Positions(read_positions(indices))


def has_slice(value: Any) -> bool:
    """Say whether it is what `np.s_[...]` gives for an index with a slice, an Ellipsis or a np.newaxis.

    Example:
        >>> has_slice(np.s_[1:3, 0]), has_slice((1, 0))
        (True, False)
    """
    parts = value if isinstance(value, tuple) else (value,)
    return any(part is None or part is Ellipsis or isinstance(part, slice) for part in parts)


def rows(indices: Sequence[int]) -> Rows:
    """Select whole rows, the entries along axis 0.

    Args:
        indices: list, tuple, range or int array (k,); negative ones count from the end.

    Returns:
        The element description.

    Raises:
        SpecTypeError: an index is no int, or it is no list.
        SpecValueError: the list is empty.

    Example:
        >>> rows(range(3))
        rows([0, 1, 2])
    """
    if not isinstance(indices, (list, tuple, range, np.ndarray)) or getattr(indices, "ndim", 1) != 1:
        raise SpecTypeError("rows are a list of ints such as rows([0, 5]), received {}".format(show(indices)))
    if not len(indices):
        raise SpecValueError("rows([]) selects nothing; leave the entry out")
    return Rows(tuple(as_index(index) for index in indices))


def slices(text_or_slices: Any) -> Slices:
    """Select what a slice selects in numpy; axes that it does not reach are whole.

    Args:
        text_or_slices: text such as "1:3, :", or what `np.s_[1:3, :]` gives.

    Returns:
        The element description.

    Raises:
        SpecTypeError: a bound is no int, or there is a np.newaxis or a list in it.
        SpecValueError: the text can't be read.

    Example:
        >>> slices(np.s_[1:3, :]) == slices("1:3,:")
        True
    """
    return Slices(write_slices(read_slices(text_or_slices) if isinstance(text_or_slices, str) else text_or_slices))


def mask(array: np.ndarray) -> Mask:
    """Select where an array is True.

    Args:
        array: bool array of exactly the weight's shape, True = selected; it is copied.

    Returns:
        The element description.

    Raises:
        SpecTypeError: no array, or not of bools.

    Example:
        >>> mask(np.zeros((2, 30), bool))
        mask(<0 of 60, shape (2, 30)>)
    """
    if not isinstance(array, np.ndarray) or array.dtype != bool:
        raise SpecTypeError("a mask is a bool array, received {}; write np.array(..., dtype=bool)".format(show(array)))
    copy = np.array(array, dtype=bool, order="C")
    copy.setflags(write=False)
    return Mask(copy)
