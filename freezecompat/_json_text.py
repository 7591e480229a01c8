"""JSON: what was written by somebody else, read with bounds, no key twice, no key unknown; and floats that it lacks."""

import json
from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy as np

from ._show import show
from .exceptions import SpecTypeError, SpecValueError

_MAX_DIGITS = 100


class JsonObject(Dict[str, Any]):
    """A JSON object that remembers which key was written twice, so that the error can name the entry."""

    repeated: Optional[str] = None


def read_json(text: str) -> Any:
    """Read a JSON text.

    Args:
        text: the text.

    Returns:
        Lists, strings, numbers, True, False, None, and `JsonObject`s.

    Raises:
        SpecTypeError: not a str.
        SpecValueError: not JSON, or nested too deeply.

    Example:
        >>> read_json('[1, 2')
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: this is not JSON: Expecting ',' delimiter at line 1, column 6
    """
    if not isinstance(text, str):
        raise SpecTypeError("expected JSON text, received {}".format(show(text)))
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_int)
    except json.JSONDecodeError as error:
        raise SpecValueError(
            "this is not JSON: {} at line {}, column {}".format(error.msg, error.lineno, error.colno)
        ) from None
    except RecursionError:
        raise SpecValueError("this JSON is nested too deeply for a spec") from None


def check_keys(value: Any, required: Iterable[str], what: str, optional: Iterable[str] = ()) -> None:
    """Raise unless `value` is an object with just the required keys, and none but the optional ones besides.

    Args:
        value: what was read.
        required: the keys.
        what: what the object is, for the error: "an entry".
        optional: keys that may be there.

    Raises:
        SpecValueError: it is not.

    Example:
        >>> check_keys({"weight": "kernel"}, ["weight", "elements"], "an entry")
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: an entry has the keys 'weight' and 'elements'; 'elements' is missing
    """
    keys = list(required)
    expected = "{} has the key{} {}".format(what, "" if len(keys) == 1 else "s", " and ".join(map(repr, keys)))
    if not isinstance(value, dict):
        raise SpecValueError("{}, received {}".format(expected, show(value)))
    repeated = getattr(value, "repeated", None)
    if repeated is not None:
        raise SpecValueError("the key {} appears twice".format(show(repeated)))
    for key in value:
        if key not in keys and key not in optional:
            raise SpecValueError("{}; {} is unknown".format(expected, show(key)))
    for key in keys:
        if key not in value:
            raise SpecValueError("{}; {!r} is missing".format(expected, key))


def plain(array: np.ndarray) -> Any:
    """Numbers and nested lists of them, with text for what JSON has no number for.

    Example:
        >>> plain(np.array([[0.5, np.nan], [-np.inf, 1]]))
        [[0.5, 'nan'], ['-inf', 1.0]]
    """
    if array.dtype.kind in "biuc" or np.isfinite(array).all():
        return array.tolist()
    if array.ndim == 0:
        return str(float(array))
    return [plain(part) for part in array]


def _object(pairs: List[Tuple[str, Any]]) -> JsonObject:
    read = JsonObject()
    for key, value in pairs:
        if key in read:
            read.repeated = key
        read[key] = value
    return read


def _int(text: str) -> int:
    # int() of a million digits takes minutes (test_spec.py::test_hostile_file).
    if len(text) > _MAX_DIGITS:
        raise SpecValueError("a number of {} digits is out of range for any index".format(len(text)))
    return int(text)
