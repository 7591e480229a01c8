"""What a spec writes, in Python or in a file, as element descriptions."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from .._json_text import check_keys
from .._mask_file import load_mask, unpack_mask
from .._show import show
from ..exceptions import SpecTypeError, SpecValueError
from .base import Element, all_of, any_of
from .by_value import largest, nonzero, random, smallest, where, zeros
from .indexed import Everything, has_slice, mask, positions, rows, slices
from .of_layers import gates, units
from .pinned import pin

_MAX_DEPTH = 50
_MAX_PARTS = 1000


def parse(value: Any) -> Element:
    """Turn what a spec writes in Python into an element description.

    Args:
        value: `(1, 2)`, `[(1, 2), (3, 1)]`, `[0, 2]`, an int array, `np.nonzero(...)`, "all", "1:3, :",
            `np.s_[1:3, :]`, a bool array, a function of the weight's values, or a description that
            `freezecompat.elements` made.

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
        if has_slice(value):
            return slices(value)
        if any(isinstance(part, list) for part in value):
            raise SpecTypeError(
                "{} has no single meaning; write a list of full indices such as [(1, 2), (3, 1)]".format(show(value))
            )
    if isinstance(value, (tuple, list, np.ndarray)) and getattr(value, "ndim", 1) != 0:
        return positions(value)
    if callable(value) and not isinstance(value, type):
        return where(value)
    raise SpecTypeError(
        "elements are an index tuple such as (1, 2), a list of them, 'all', a slice, a bool array, a function or one of "
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
    """How a JSON object with these keys becomes an element description; `inner` reads an element inside it."""

    keys: Tuple[str, ...]
    read: Callable[[Dict[str, Any], Optional[str], Callable[[Any], Element]], Element]
    optional: Tuple[str, ...] = ()


def _several(parts: Any, key: str, inner: Callable[[Any], Element]) -> List[Element]:
    if not isinstance(parts, list) or len(parts) < 2:
        raise SpecTypeError("{!r} is a list of two elements or more, received {}".format(key, show(parts)))
    if len(parts) > _MAX_PARTS:
        raise SpecValueError(
            "{!r} has {} elements, {} are allowed; one mask does for many".format(key, len(parts), _MAX_PARTS)
        )
    return [inner(part) for part in parts]


def _flag(value: Any, key: str, element: Element) -> Element:
    if value is not True:
        raise SpecTypeError("{!r} is written with true, received {}".format(key, show(value)))
    return element


def _pinned_values(value: Any) -> Any:
    """JSON's numbers, nested lists of them, or the words for what JSON has no number for."""
    if isinstance(value, list):
        return [_pinned_values(part) for part in value]
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    return value


# The one table of what an object in a spec file may be: the key that tells -> all its keys and how they are read.
_JSON_FORMS = {
    "rows": _JsonForm(("rows",), lambda read, folder, inner: rows(read["rows"])),
    "mask": _JsonForm(("mask",), lambda read, folder, inner: mask(load_mask(read["mask"], folder))),
    "bits": _JsonForm(("shape", "bits"), lambda read, folder, inner: mask(unpack_mask(read["shape"], read["bits"]))),
    "where": _JsonForm(("where",), lambda read, folder, inner: where(_text(read["where"], "where"))),
    "zeros": _JsonForm(("zeros",), lambda read, folder, inner: _flag(read["zeros"], "zeros", zeros())),
    "nonzero": _JsonForm(("nonzero",), lambda read, folder, inner: _flag(read["nonzero"], "nonzero", nonzero())),
    "smallest": _JsonForm(("smallest",), lambda read, folder, inner: smallest(read["smallest"])),
    "largest": _JsonForm(("largest",), lambda read, folder, inner: largest(read["largest"])),
    "random": _JsonForm(
        ("random",), lambda read, folder, inner: random(read["random"], read.get("seed", 0)), ("seed",)
    ),
    "units": _JsonForm(
        ("units",),
        lambda read, folder, inner: units(read["units"], read.get("axis"), statistics=read.get("statistics", False)),
        ("axis", "statistics"),
    ),
    "gates": _JsonForm(
        ("gates",), lambda read, folder, inner: gates(read["gates"], order=read.get("order")), ("order",)
    ),
    "pin": _JsonForm(
        ("pin", "value"), lambda read, folder, inner: pin(inner(read["pin"]), _pinned_values(read["value"]))
    ),
    "any": _JsonForm(("any",), lambda read, folder, inner: any_of(_several(read["any"], "any", inner))),
    "all_of": _JsonForm(("all_of",), lambda read, folder, inner: all_of(_several(read["all_of"], "all_of", inner))),
    "not": _JsonForm(("not",), lambda read, folder, inner: ~inner(read["not"])),
}


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise SpecTypeError("{!r} is text, received {}".format(key, show(value)))
    return value


def from_json(obj: Any, folder: Optional[str] = None, depth: int = 0) -> Element:
    """Turn what a spec file writes into an element description.

    Args:
        obj: what JSON gave: a string, a list, or an object with the keys that `to_json` writes.
        folder: the folder that files in it are relative to; None if there is none.
        depth: how many elements it stands in.

    Returns:
        The element description.

    Raises:
        SpecTypeError: it stands for no elements.
        SpecValueError: unknown or missing keys, a mask that can't be read, elements in elements in elements.

    Example:
        >>> from_json({"rows": [0, 5]})
        rows([0, 5])
        >>> from_json({"not": [[1, 2]]})
        ~positions((1, 2))
    """
    if depth > _MAX_DEPTH:
        raise SpecValueError("elements are nested more than {} deep".format(_MAX_DEPTH))
    if not isinstance(obj, dict):
        return parse(obj)
    for key, form in _JSON_FORMS.items():
        if key in obj:
            check_keys(obj, form.keys, "{!r}".format(key), form.optional)
            return form.read(obj, folder, lambda inside: from_json(inside, folder, depth + 1))
    raise SpecValueError(
        "elements with the key{} {} are unknown; known keys: {}".format(
            "" if len(obj) == 1 else "s", ", ".join(show(key) for key in obj) or "{}", ", ".join(map(repr, _JSON_FORMS))
        )
    )
