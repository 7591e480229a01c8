"""Which elements of a weight a rule selects: immutable descriptions, each a few lines.

A new kind of element is one class here, with `select` and `to_json`, a public constructor, a line in `parse` if plain
Python values stand for it, and one in `_JSON_FORMS` if a JSON object does.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._indexing import (
    as_index,
    check_range,
    flat_indices,
    rank_error,
    ranges_of,
    read_positions,
    read_slices,
    write_slices,
)
from ._json_text import check_keys
from ._mask_file import load_mask, pack_mask, unpack_mask
from ._show import show
from .element_set import ElementSet
from .exceptions import ElementIndexError, SpecTypeError, SpecValueError
from .resolve import Weight

_MAX_SHOWN = 40


class Element:
    """Base of all descriptions.

    Attributes:
        on_layer: whether a layer's address may stand before it, which names several weights.
        trainable_only: whether a glob or a layer's address means the trainable weights only.

    Example:
        >>> rows([0]).on_layer, all().on_layer
        (False, True)
    """

    on_layer = False
    trainable_only = True

    def select(self, weight: Weight) -> ElementSet:
        """Return the elements of one weight; raise if they can't be elements of it."""
        raise NotImplementedError

    def to_json(self) -> Any:
        """Return what stands for it in a spec file."""
        raise NotImplementedError


@dataclass(frozen=True)
class Everything(Element):
    """The whole weight; made by `all()` or "all".

    Example:
        >>> all().select(Weight("bias", (3,))).count
        3
    """

    on_layer = True

    def select(self, weight: Weight) -> ElementSet:
        return ElementSet.full(weight.shape)

    def to_json(self) -> str:
        return "all"

    def __repr__(self) -> str:
        return "'all'"


@dataclass(frozen=True, eq=False)
class Positions(Element):
    """Elements by their full index; made by `positions`, `(1, 2)` or `[(1, 2), (3, 1)]`.

    Example:
        >>> parse([(1, 2), (-1, 1)]).select(Weight("kernel", (4, 3))).positions().tolist()
        [[1, 2], [3, 1]]
    """

    indices: np.ndarray  # int64 (elements, rank), read-only

    def select(self, weight: Weight) -> ElementSet:
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


@dataclass(frozen=True)
class Rows(Element):
    """Rows of an embedding table or a matrix; made by `rows`.

    Example:
        >>> rows([0]).select(Weight("embeddings", (5, 2))).flat().tolist()
        [0, 1]
    """

    indices: Tuple[int, ...]

    def select(self, weight: Weight) -> ElementSet:
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

    def select(self, weight: Weight) -> ElementSet:
        return ElementSet.from_axes(weight.shape, ranges_of(read_slices(self.text), weight.shape))

    def to_json(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return repr(self.text)


@dataclass(frozen=True, eq=False)
class Mask(Element):
    """A bool for each element; made by `mask` or a bool array.

    Example:
        >>> mask(np.array([True, False])).to_json()
        {'shape': [2], 'bits': 'gA=='}
    """

    array: np.ndarray  # bool, read-only

    def select(self, weight: Weight) -> ElementSet:
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
    element = parse(indices) if isinstance(indices, (list, tuple, np.ndarray)) else None
    if not isinstance(element, Positions):
        raise SpecTypeError("positions are full indices such as [(1, 2), (3, 1)], received {}".format(show(indices)))
    return element


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


def parse(value: Any) -> Element:
    """Turn what a spec writes in Python into an element description.

    Args:
        value: `(1, 2)`, `[(1, 2), (3, 1)]`, `[0, 2]`, an int array, `np.nonzero(...)`, "all", "1:3, :",
            `np.s_[1:3, :]`, a bool array, or a description that `freezecompat.elements` made.

    Returns:
        The element description.

    Raises:
        SpecTypeError: it stands for no elements.
        SpecValueError: it is empty, or text that can't be read.
        ElementIndexError: indices of different lengths.

    Example:
        >>> parse((1, 2)), parse([0, 2]), parse(np.s_[1:, 0])
        ((1, 2), [0, 2], '1:, 0')
    """
    if isinstance(value, Element):
        return value
    if isinstance(value, str):
        return Everything() if value == "all" else slices(value)
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return mask(value)
    if isinstance(value, slice) or value is Ellipsis:
        return slices(value)
    if isinstance(value, tuple):
        if any(part is None or part is Ellipsis or isinstance(part, slice) for part in value):
            return slices(value)
        if any(isinstance(part, list) for part in value):
            raise SpecTypeError(
                "{} has no single meaning; write a list of full indices such as [(1, 2), (3, 1)]".format(show(value))
            )
    if isinstance(value, (tuple, list, np.ndarray)) and getattr(value, "ndim", 1) != 0:
        return Positions(read_positions(value))
    raise SpecTypeError(
        "elements are an index tuple such as (1, 2), a list of them, 'all', a slice, a bool array or one of "
        "freezecompat.elements; received {} ({}){}".format(show(value), type(value).__name__, _hint(value))
    )


def _hint(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "; 'all' is the whole weight"
    if isinstance(value, (int, np.integer)):
        return "; write ({0},) for element {0} of a weight of rank 1, rows([{0}]) for a row".format(show(value))
    if isinstance(value, dict):
        return "; a dict is the form of spec files: FreezeSpec.from_json"
    return ""


class _JsonForm(NamedTuple):
    """How a JSON object with these keys becomes an element description, given the folder of its file."""

    keys: Tuple[str, ...]
    read: Callable[[Dict[str, Any], Optional[str]], Element]


_JSON_FORMS = {
    "rows": _JsonForm(("rows",), lambda read, folder: rows(read["rows"])),
    "mask": _JsonForm(("mask",), lambda read, folder: mask(load_mask(read["mask"], folder))),
    "bits": _JsonForm(("shape", "bits"), lambda read, folder: mask(unpack_mask(read["shape"], read["bits"]))),
}


def from_json(obj: Any, folder: Optional[str] = None) -> Element:
    """Turn what a spec file writes into an element description.

    Args:
        obj: what JSON gave: a string, a list, or an object with the keys that `to_json` writes.
        folder: the folder that files in it are relative to; None if there is none.

    Returns:
        The element description.

    Raises:
        SpecTypeError: it stands for no elements.
        SpecValueError: unknown or missing keys, a mask that can't be read.

    Example:
        >>> from_json({"rows": [0, 5]})
        rows([0, 5])
        >>> from_json([[1, 2]])
        (1, 2)
    """
    if not isinstance(obj, dict):
        return parse(obj)
    for key, form in _JSON_FORMS.items():
        if key in obj:
            check_keys(obj, form.keys, "{!r}".format(key))
            return form.read(obj, folder)
    raise SpecValueError(
        "elements with the key{} {} are unknown; known keys: {}".format(
            "" if len(obj) == 1 else "s", ", ".join(show(key) for key in obj) or "{}", ", ".join(map(repr, _JSON_FORMS))
        )
    )
