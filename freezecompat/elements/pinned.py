"""Elements that are set to a value when they are frozen."""

from dataclasses import dataclass
from typing import Any, Dict

import numpy as np

from .._json_text import plain
from .._show import show
from ..element_set import ElementSet
from ..exceptions import SpecTypeError, SpecValueError
from ..resolve import Weight
from .base import Chosen, OfOne, Pinned, without_pins


@dataclass(frozen=True, eq=False)
class Pin(OfOne):
    """Elements and the value that they are frozen at; made by `pin`.

    Example:
        >>> from freezecompat.elements import positions
        >>> pin((1,), 0.5).choose(Weight("bias", (2,))).pins[0].values.tolist()
        [0.5]
    """

    value: np.ndarray  # read-only

    has_pins = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return self.part.select(weight, named)

    def choose(self, weight: Weight, named: bool = True) -> Chosen:
        elements = self.select(weight, named)
        if self.value.ndim == 0:
            values = np.full(elements.count, self.value)
        elif self.value.shape == weight.shape:
            values = self.value.reshape(-1)[elements.flat()]
        elif self.value.shape == (elements.count,):
            values = self.value
        else:
            raise SpecValueError(
                "{!r} gives values of shape {}; expected one number, an array of the weight's shape {}, or one number for "
                "each of the {} selected elements".format(self, self.value.shape, weight.shape, elements.count)
            )
        return Chosen(elements, [Pinned(elements, _as_dtype(values, weight))])

    def to_json(self) -> Dict[str, Any]:
        if self.value.dtype.kind == "c":
            raise SpecTypeError("complex values can't be written to a file")
        return {"pin": self.part.to_json(), "value": plain(self.value)}

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Pin)
            and self.part == other.part
            and self.value.shape == other.value.shape
            and plain(self.value) == plain(other.value)
        )

    def __hash__(self) -> int:
        return hash((self.part, self.value.shape))

    def __repr__(self) -> str:
        value = repr(self.value.item()) if self.value.ndim == 0 else show(self.value)
        return "pin({!r}, {})".format(self.part, value)


def pin(elements: Any, value: Any) -> Pin:
    """Select elements, and set them to a value at the moment when they are frozen.

    Args:
        elements: what an entry of a spec takes.
        value: a number; an array of the weight's shape; or an array with one number for each selected element, in C order.
            It is rounded to the weight's dtype.

    Returns:
        The element description.

    Raises:
        SpecTypeError: `value` is no number or array of numbers, or `elements` are pinned already.

    Example:
        >>> pin((1, 2), 0.0)
        pin((1, 2), 0.0)
    """
    from .reading import parse  # not above: what it reads may be a pin

    if isinstance(value, (str, bytes)) or value is None:
        array = np.array(None)
    else:
        array = np.array(value)
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise SpecTypeError("a pin's value is a number or an array of numbers, received {}".format(show(value)))
    array.setflags(write=False)
    return Pin(without_pins(parse(elements), "pin()"), array)


def _as_dtype(values: np.ndarray, weight: Weight) -> np.ndarray:
    dtype = np.asarray(weight.values).dtype if weight.values is not None else _dtype(weight.dtype)
    if dtype is None:
        return values
    if values.dtype.kind == "c" and dtype.kind != "c":
        raise SpecTypeError("a weight of {} can't hold complex numbers".format(weight.dtype))
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:  # bfloat16: TensorFlow rounds it when it is written
        return None
