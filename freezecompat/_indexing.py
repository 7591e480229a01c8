"""Indices and slices as a spec writes them, in Python or as text such as "1:3, :". Nothing is evaluated as code."""

import re
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from ._show import show
from .exceptions import ElementIndexError, SpecTypeError, SpecValueError

_MAX_TEXT = 4000
_INT = re.compile(r"[+-]?[0-9]{1,19}$")
_HINT = "write 'all', or a slice as between square brackets, such as '1:3, :' or '..., 0'"


def as_index(value: Any) -> int:
    """Return an index as an int that fits 64 bits, or say why it is none.

    Args:
        value: an int or a numpy int; bools and floats are refused.

    Returns:
        The int.

    Raises:
        SpecTypeError: it is no int.
        ElementIndexError: no weight has so many elements.

    Example:
        >>> as_index(-1)
        -1
        >>> as_index(1.5)
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecTypeError: an index must be an int, received 1.5 (float)
    """
    if isinstance(value, (bool, np.bool_)):
        raise SpecTypeError(
            "an index must be an int, received {} (bool); for a mask pass a bool array of the weight's shape, such as "
            "np.array([True, False])".format(show(value))
        )
    if not isinstance(value, (int, np.integer)):
        raise SpecTypeError("an index must be an int, received {} ({})".format(show(value), type(value).__name__))
    if not -(2**63) <= int(value) < 2**63:
        raise ElementIndexError("index {} is out of range for a weight of any shape".format(show(int(value))))
    return int(value)


def check_range(index: int, axis: int, shape: Sequence[int]) -> int:
    """Return an index of one axis, counted from the front.

    Args:
        index: the index, negative ones counted from the end.
        axis: the axis.
        shape: shape of the weight.

    Returns:
        The index, not negative.

    Raises:
        ElementIndexError: it is out of range.

    Example:
        >>> check_range(-1, 0, (4, 3))
        3
    """
    length = shape[axis]
    if not -length <= index < length:
        valid = "valid: {} to {}".format(-length, length - 1) if length else "the axis is empty"
        raise ElementIndexError(
            "index {} is out of range for axis {} of a weight of shape {} ({})".format(index, axis, tuple(shape), valid)
        )
    return index % length


def read_positions(value: Any) -> np.ndarray:
    """Turn one full index, or several, into an array of positions.

    Args:
        value: a tuple of ints (one index), a list or tuple of such, a list of ints (rank 1), an int array
            (elements, rank) or (elements,), or a tuple of int arrays, one for each axis, as `np.nonzero` gives.

    Returns:
        Read-only int64 array (elements, rank), a copy.

    Raises:
        SpecTypeError: an index is no int, or the nesting has no single meaning.
        SpecValueError: no index at all.
        ElementIndexError: indices of different lengths.

    Example:
        >>> read_positions((1, 2)).tolist(), read_positions([0, 2]).tolist()
        ([[1, 2]], [[0], [2]])
    """
    if isinstance(value, np.ndarray):
        found = _of_array(value)
    elif isinstance(value, tuple) and value and all(isinstance(part, np.ndarray) for part in value):
        found = _of_columns(value)
    elif isinstance(value, tuple) and not (value and all(isinstance(part, tuple) for part in value)):
        found = _of_indices([value])
    else:
        found = _of_indices(value)
    found.setflags(write=False)
    return found


def flat_indices(indices: np.ndarray, shape: Tuple[int, ...]) -> np.ndarray:
    """Turn full indices into flat ones, in C order.

    Args:
        indices: int64 array (elements, rank); negative ones count from the end.
        shape: shape of the weight.

    Returns:
        Int64 array (elements,).

    Raises:
        ElementIndexError: an index is out of range; the first is named.

    Example:
        >>> flat_indices(np.array([[1, 2], [-1, 1]]), (4, 3)).tolist()
        [5, 10]
    """
    lengths = np.array(shape, dtype=np.int64)
    bad = np.argwhere((indices < -lengths) | (indices >= lengths))
    if len(bad):
        element, axis = bad[0].tolist()
        check_range(int(indices[element, axis]), axis, shape)
    flat = np.zeros(len(indices), np.int64)
    for axis, length in enumerate(shape):
        flat = flat * length + indices[:, axis] % length
    return flat


def rank_error(indices: np.ndarray, text: str, shape: Tuple[int, ...]) -> Exception:
    """Make the error for indices that have not as many ints as the weight has axes.

    Args:
        indices: int64 array (elements, ints).
        text: how the user wrote them.
        shape: shape of the weight.

    Returns:
        The error, with a hint where the meaning can be guessed.

    Example:
        >>> rank_error(np.array([[0], [2]]), "[0, 2]", (4, 3)).args[0]
        '[0, 2] has 1 int for an element, but a weight of shape (4, 3) needs 2; write (0, 2) for one element'
    """
    count, width = indices.shape
    rank = len(shape)
    if indices.shape == shape and np.isin(indices, (0, 1)).all():
        return SpecTypeError(
            "an array of 0 and 1 of the weight's shape {} is no mask; a mask is of bools: write .astype(bool)".format(
                shape
            )
        )
    hint = ""
    if width == 1 and count == rank:
        hint = "; write {} for one element".format(tuple(indices[:, 0].tolist()))
    elif count == 1 and rank == 1:
        hint = "; write {} for {} elements".format(show(indices[0].tolist()), width)
    return ElementIndexError(
        "{} has {} int{} for an element, but a weight of shape {} needs {}{}".format(
            text, width, "" if width == 1 else "s", shape, rank, hint
        )
    )


def write_slices(parts: Any) -> str:
    """Write an index with slices as text.

    Args:
        parts: what `np.s_[...]` gives: a slice, an Ellipsis, or a tuple of these and ints.

    Returns:
        The text between the brackets.

    Raises:
        SpecTypeError: a part is something else, or a bound is no int.
        SpecValueError: more than one Ellipsis, or a step of 0.

    Example:
        >>> write_slices(np.s_[1:3, ..., ::2])
        '1:3, ..., ::2'
    """
    parts = parts if isinstance(parts, tuple) else (parts,)
    text = ", ".join(_write_part(part) for part in parts)
    read_slices(text)
    return text


def read_slices(text: str) -> Tuple[Any, ...]:
    """Read the text of an index with slices.

    Args:
        text: such as "1:3, :".

    Returns:
        Tuple of ints, slices and at most one Ellipsis.

    Raises:
        SpecValueError: it is no such text.

    Example:
        >>> read_slices("1:3, ..., 0")
        (slice(1, 3, None), Ellipsis, 0)
    """
    if len(text) > _MAX_TEXT:
        raise SpecValueError(
            "{} is no slice: it has {} characters, {} are allowed; {}".format(show(text), len(text), _MAX_TEXT, _HINT)
        )
    parts = tuple(_read_part(part.strip(), text) for part in text.split(","))
    if sum(part is Ellipsis for part in parts) > 1:
        raise SpecValueError("{} has more than one '...'; a slice has at most one".format(show(text)))
    if all(isinstance(part, int) for part in parts):
        raise SpecValueError(
            "{} has no ':' or '...', so it is no slice; one element is (1, 2), or [[1, 2]] in a file".format(show(text))
        )
    return parts


def ranges_of(parts: Sequence[Any], shape: Sequence[int]) -> List[Sequence[int]]:
    """Apply an index with slices to a shape, as numpy does: axes that it does not reach are whole.

    Args:
        parts: what `read_slices` gives.
        shape: shape of the weight.

    Returns:
        For each axis the indices that are selected.

    Raises:
        ElementIndexError: an int is out of range, or there are more parts than axes.

    Example:
        >>> [list(axis) for axis in ranges_of(read_slices("-1, ..."), (4, 3))]
        [[3], [0, 1, 2]]
    """
    given = sum(part is not Ellipsis for part in parts)
    if given > len(shape):
        raise ElementIndexError(
            "the slice has {} parts, but a weight of shape {} has {} axes".format(given, tuple(shape), len(shape))
        )
    missing = [slice(None)] * (len(shape) - given)
    before = [part is Ellipsis for part in parts].index(True) if given < len(parts) else given
    whole = list(parts[:before]) + missing + list(parts[before + 1 :])
    return [_range_of(part, axis, shape) for axis, part in enumerate(whole)]


def _range_of(part: Any, axis: int, shape: Sequence[int]) -> Sequence[int]:
    if isinstance(part, slice):
        return range(*part.indices(shape[axis]))
    return [check_range(part, axis, shape)]


def _write_part(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if part is None:
        raise SpecTypeError("np.newaxis (None) adds an axis and selects nothing; leave it out of the slice")
    if isinstance(part, slice):
        bounds = [part.start, part.stop] + ([] if part.step is None else [part.step])
        return ":".join("" if bound is None else str(as_index(bound)) for bound in bounds)
    if isinstance(part, (list, tuple, np.ndarray)):
        raise SpecTypeError(
            "{} stands beside a slice; a slice holds ints, slices and '...' only, so join two entries or pass a "
            "bool mask".format(show(part))
        )
    return str(as_index(part))


def _read_part(part: str, text: str) -> Any:
    if part == "...":
        return Ellipsis
    pieces = [piece.strip() for piece in part.split(":")]
    if len(pieces) == 1 and part:
        return _read_int(part, text)
    if len(pieces) not in (2, 3):
        raise SpecValueError("can't read {} of {}; {}".format(show(part), show(text), _HINT))
    start, stop, step = ([_read_int(piece, text) if piece else None for piece in pieces] + [None])[:3]
    if step == 0:
        raise SpecValueError("the step of {} in {} is 0; a step is 1, 2, ... or negative".format(part, show(text)))
    return slice(start, stop, step)


def _read_int(piece: str, text: str) -> Optional[int]:
    if not _INT.match(piece):
        raise SpecValueError("can't read {} of {}; {}".format(show(piece), show(text), _HINT))
    return int(piece)


def _of_array(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu":
        raise SpecTypeError(
            "an index array holds ints and a mask bools, received {}; convert it with .astype(int) or "
            ".astype(bool)".format(show(array))
        )
    if array.ndim not in (1, 2):
        raise SpecTypeError(
            "an index array has the shape (elements, rank), received {}; a mask must be of bools".format(show(array))
        )
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise ElementIndexError("index {} is out of range for a weight of any shape".format(int(array.max())))
    return np.array(array if array.ndim == 2 else array[:, None], dtype=np.int64, order="C")


def _of_columns(columns: Sequence[np.ndarray]) -> np.ndarray:
    if any(column.ndim != 1 for column in columns):
        raise SpecTypeError(
            "a tuple of arrays is one array of ints for each axis, as np.nonzero gives, received {}".format(
                show(columns)
            )
        )
    if len({len(column) for column in columns}) > 1:
        raise SpecValueError("the index arrays of the axes have different lengths: {}".format(show(columns)))
    return np.concatenate([_of_array(column) for column in columns], axis=1)


def _of_indices(values: Sequence[Any]) -> np.ndarray:
    """Read a sequence of full indices, or of the ints of a weight of rank 1."""
    if not len(values):
        raise SpecValueError("an empty list selects nothing; leave the entry out")
    nested = [isinstance(value, (list, tuple, np.ndarray)) for value in values]
    if all(nested):
        indices = [_full_index(value) for value in values]
    elif not any(nested):
        indices = [(as_index(value),) for value in values]
    else:
        raise SpecTypeError("{} mixes ints and full indices; write [(1, 2), (3, 1)]".format(show(values)))
    for index in indices:
        if len(index) != len(indices[0]):
            raise ElementIndexError(
                "{} and {} are of different lengths; an index has one int for each axis".format(
                    show(indices[0]), show(index)
                )
            )
    return np.array(indices, dtype=np.int64).reshape(len(indices), len(indices[0]))


def _full_index(value: Any) -> Tuple[int, ...]:
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise SpecTypeError("a full index has one int for each axis, received {}".format(show(value)))
    return tuple(as_index(part) for part in value)
