"""Short, safe text of a user's value, for error messages: never long, never deep, never an error of its own."""

import reprlib
from typing import Any, Dict, Optional

import numpy as np


class _ShortRepr(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxdict = 8
        self.maxstring = self.maxother = 80

    def repr_int(self, value: int, level: int) -> str:
        # repr() of a huge int is slow, and an error from Python 3.11 on (test_huge_integers_are_described).
        return repr(value) if value.bit_length() <= 128 else "<integer of {} bits>".format(value.bit_length())

    def repr_JsonObject(self, value: Dict[str, Any], level: int) -> str:
        return self.repr_dict(value, level)

    def repr_ndarray(self, value: np.ndarray, level: int) -> str:
        if value.size <= 12 and value.dtype.kind in "biuf":
            return "np.array({})".format(value.tolist())
        return "<array of {}, shape {}>".format(value.dtype, value.shape)


_SHORT = _ShortRepr()


def show(value: Any) -> str:
    """Describe `value` in at most a line; a variable object by its name.

    Args:
        value: anything that a user passed.

    Returns:
        The text for an error message.

    Example:
        >>> show([(1, 2)])
        '[(1, 2)]'
        >>> show([[[[[[1]]]]]])
        '[[[[...]]]]'
    """
    if isinstance(value, np.generic):
        value = value.item()  # numpy 2 writes np.int64(3)
    name = _name_of_variable(value)
    return _SHORT.repr(value) if name is None else "variable {}".format(_SHORT.repr(name))


def _name_of_variable(value: Any) -> Optional[str]:
    try:
        name = value.name if hasattr(value, "shape") else None
    except Exception:  # a property of somebody else's class, asked while an error text is being made
        return None
    return name if isinstance(name, str) else None
