"""Elements by their meaning in a layer: its output units, and the gates of a recurrent cell."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from .._indexing import as_index
from .._show import show
from ..element_set import ElementSet
from ..exceptions import ElementIndexError, SpecTypeError, SpecValueError
from ..resolve import Weight
from .base import Element

#: The gates of Keras' cells, in the order of their columns.
LSTM_GATES = ("input", "forget", "cell", "output")
GRU_GATES = ("update", "reset", "candidate")

_ALSO_CALLED = {"candidate": "cell", "cell": "candidate"}

_MAX_SHOWN = 40
_STATISTICS = ("moving_mean", "moving_variance")


@dataclass(frozen=True)
class Units(Element):
    """Output units of a layer; made by `units`.

    Example:
        >>> units([1]).select(Weight("hidden/kernel", (2, 3), layer="hidden", role="kernel", unit_axis=-1)).flat().tolist()
        [1, 4]
    """

    indices: Tuple[int, ...]
    axis: Union[None, int, Tuple[int, ...]] = None
    statistics: bool = False

    on_layer = True
    of_one_layer = True

    def reaches(self, weight: Weight) -> bool:
        return weight.trainable or (self.statistics and weight.role in _STATISTICS)

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        if self.axis is None and weight.whole_for_units:
            return ElementSet.full(weight.shape)
        given = weight.unit_axis if self.axis is None else self.axis
        if given is None:
            if not named:
                return ElementSet.empty(weight.shape)
            raise SpecValueError(
                "which axis of shape {} its units lie along is not known; give units({}, axis=-1)".format(
                    weight.shape, _listed(self.indices)
                )
            )
        axes = [_axis(axis, weight.shape) for axis in (given if isinstance(given, tuple) else (given,))]
        blocks = 1 if weight.gates is None or self.axis is not None else len(weight.gates)
        lengths = [weight.shape[axis] for axis in axes]
        lengths[-1] //= blocks
        count = int(np.prod(lengths, dtype=np.int64))
        along: List[Any] = [range(length) for length in weight.shape]
        if len(axes) == 1:
            units_of = [_in_range(index, count, weight.shape) for index in self.indices]
            along[axes[0]] = [block * count + unit for block in range(blocks) for unit in units_of]
            return ElementSet.from_axes(weight.shape, along)
        chosen = ElementSet.empty(weight.shape)
        for index in self.indices:  # several axes count as one, in C order
            place = np.unravel_index(_in_range(index, count, weight.shape), lengths)
            for axis, position in zip(axes, place):
                along[axis] = [int(position)]
            chosen = chosen | ElementSet.from_axes(weight.shape, along)
        return chosen

    def to_json(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"units": list(self.indices)}
        if self.axis is not None:
            found["axis"] = list(self.axis) if isinstance(self.axis, tuple) else self.axis
        if self.statistics:
            found["statistics"] = True
        return found

    def __repr__(self) -> str:
        options = "" if self.axis is None else ", axis={!r}".format(self.axis)
        options += ", statistics=True" if self.statistics else ""
        return "units({}{})".format(_listed(self.indices), options)


@dataclass(frozen=True)
class Gates(Element):
    """Columns of the gates of an LSTM or GRU; made by `gates`.

    Example:
        >>> kernel = Weight("lstm/kernel", (1, 8), layer="lstm", role="kernel", gates=LSTM_GATES)
        >>> gates("forget").select(kernel).flat().tolist()
        [2, 3]
    """

    names: Tuple[str, ...]
    order: Optional[Tuple[str, ...]] = None

    on_layer = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        order = weight.gates if self.order is None else self.order
        if order is None:
            if not named:
                return ElementSet.empty(weight.shape)
            raise SpecValueError(
                "the order of its gates is not known; give it as the columns have it, as in gates({!r}, "
                "order=['input', 'cell', 'forget', 'output'])".format(self.names[0])
            )
        if not weight.shape or weight.shape[-1] % len(order):
            raise SpecValueError(
                "the last axis of shape {} has no {} gates of equal size".format(weight.shape, len(order))
            )
        here = [place for name in self.names for place in _places(name, order)]
        if not here and named:
            raise SpecValueError("it has no gate {}; its gates: {}".format(" or ".join(self.names), ", ".join(order)))
        size = weight.shape[-1] // len(order)
        columns = [place * size + k for place in here for k in range(size)]
        axes: List[Any] = [range(length) for length in weight.shape[:-1]]
        return ElementSet.from_axes(weight.shape, axes + [columns])

    def to_json(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"gates": self.names[0] if len(self.names) == 1 else list(self.names)}
        if self.order is not None:
            found["order"] = list(self.order)
        return found

    def __repr__(self) -> str:
        names = repr(self.names[0]) if len(self.names) == 1 else repr(list(self.names))
        return "gates({}{})".format(names, "" if self.order is None else ", order={}".format(list(self.order)))


def units(
    indices: Union[int, Sequence[int]],
    axis: Union[None, int, Sequence[int]] = None,
    *,
    statistics: bool = False,
) -> Units:
    """Select output units, filters or channels of a layer: their slice of its kernels, and their entry of its bias.

    Before the address of a layer it selects in each of its weights, so that the unit's output before the activation stays
    what it was, for a fixed input. In a recurrent layer the unit's columns of every gate; in a separable convolution the
    whole depthwise kernel too, from which every filter is made; in an attention layer a unit is a head. The units of a
    depthwise convolution are its output channels, channel * depth_multiplier + k.

    Args:
        indices: an int or a list of them; negative ones count from the end.
        axis: for a weight whose layer is not known: the axis along which its units lie; several axes count as one, in C
            order.
        statistics: with a BatchNormalization, its moving mean and variance too.

    Returns:
        The element description.

    Raises:
        SpecTypeError: an index or axis is no int.
        SpecValueError: no index.

    Example:
        >>> units([0, 3])
        units([0, 3])
        >>> units(1, axis=-1).select(Weight("w", (2, 2))).flat().tolist()
        [1, 3]
    """
    if isinstance(indices, (int, np.integer)) and not isinstance(indices, (bool, np.bool_)):
        indices = [int(indices)]
    if not isinstance(indices, (list, tuple, range, np.ndarray)) or getattr(indices, "ndim", 1) != 1:
        raise SpecTypeError("units are a list of ints such as units([0, 3]), received {}".format(show(indices)))
    if not len(indices):
        raise SpecValueError("units([]) selects nothing; leave the entry out")
    if not isinstance(statistics, (bool, np.bool_)):
        raise SpecTypeError("statistics is True or False, received {}".format(show(statistics)))
    along: Union[None, int, Tuple[int, ...]] = None
    if isinstance(axis, (list, tuple)) and axis:
        along = tuple(as_index(one) for one in axis)
    elif axis is not None:
        along = as_index(axis)
    return Units(tuple(as_index(index) for index in indices), along, bool(statistics))


def gates(names: Union[str, Sequence[str]], order: Optional[Sequence[str]] = None) -> Gates:
    """Select whole gates of an LSTM or GRU: their columns of kernel, recurrent kernel and bias.

    Args:
        names: one or several of "input", "forget", "cell", "output" (LSTM); "update", "reset", "candidate" (GRU).
        order: for a weight whose cell is not known: all its gates, in the order of their columns.

    Returns:
        The element description.

    Raises:
        SpecTypeError: no text.
        SpecValueError: no name, or one that `order` does not have.

    Example:
        >>> gates("forget")
        gates('forget')
        >>> gates("reset", order=["reset", "update"]).select(Weight("gates/bias", (4,))).flat().tolist()
        [0, 1]
    """
    wanted = (names,) if isinstance(names, str) else names
    for given in (wanted, order):
        if given is None:
            continue
        if not isinstance(given, (list, tuple)) or not given or not all(isinstance(name, str) for name in given):
            raise SpecTypeError("gates are named by text, such as gates('forget'), received {}".format(show(given)))
    known = LSTM_GATES + GRU_GATES if order is None else tuple(order)
    for name in wanted:
        if not _places(name, known):
            raise SpecValueError("there is no gate {}; gates: {}".format(show(name), ", ".join(known)))
    if order is not None and len(set(order)) < len(order):
        raise SpecValueError("the order {} has a gate twice".format(show(list(order))))
    return Gates(tuple(wanted), None if order is None else tuple(order))


def _listed(indices: Sequence[int]) -> str:
    return str(list(indices)) if len(indices) <= _MAX_SHOWN else "<{} units>".format(len(indices))


def _places(name: str, order: Sequence[str]) -> List[int]:
    """Where a gate's columns are; a GRU's candidate and an LSTM's cell input go by either name."""
    return [place for place, gate in enumerate(order) if gate in (name, _ALSO_CALLED.get(name))]


def _axis(axis: int, shape: Tuple[int, ...]) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ElementIndexError("axis {} is out of range for a weight of shape {}".format(axis, shape))
    return axis % len(shape)


def _in_range(index: int, count: int, shape: Tuple[int, ...]) -> int:
    if not -count <= index < count:
        raise ElementIndexError(
            "unit {} is out of range: a weight of shape {} has {} unit{} here".format(
                index, shape, count, "" if count == 1 else "s"
            )
        )
    return index % count
