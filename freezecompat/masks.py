"""From a spec and weight rows to the elements that are frozen: the one place where both backends get their masks."""

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._bits import different_bits
from ._show import show
from .element_set import ElementSet
from .elements import Chosen, Pinned
from .exceptions import AmbiguousWeight, FreezeCompatError, SpecValueError, UnknownWeight
from .resolve import Match, Weight, as_weights, listing, resolve
from .spec import FreezeSpec, Rule, naming_entry

__all__ = ["Selection", "build", "build_masks", "merge_pins"]


class Selection(NamedTuple):
    """What a spec selects of some weights.

    Attributes:
        sets: `{canonical address: elements}`, only sets with at least one element, in weight order.
        pins: `{canonical address: elements that are set when frozen, and their values}`.
    """

    sets: Dict[str, ElementSet]
    pins: Dict[str, Pinned]


def build_masks(spec: Any, weights: Union[Mapping[str, Any], Iterable[Weight]]) -> Dict[str, np.ndarray]:
    """Compute which elements a spec freezes, with numpy only.

    Args:
        spec: a `FreezeSpec`, or what one is made of.
        weights: `{address: array}`, or rows as `list_weights` gives them.

    Returns:
        `{canonical address: bool array of the weight's shape}`, True = frozen; only weights with at least one frozen
        element, in the order of `weights`.

    Raises:
        FreezeCompatError: an entry that fits no weight, several, or selects nothing that exists; the text names it.

    Example:
        >>> masks = build_masks({"hidden/kernel": [(0, 1), (1, 0)]}, {"hidden/kernel": np.zeros((2, 2))})
        >>> masks["hidden/kernel"].tolist()
        [[False, True], [True, False]]
    """
    return {
        address: chosen.into_dense() for address, chosen in _selected(spec, _Values(as_weights(weights))).sets.items()
    }


def build(
    spec: Any,
    weights: Sequence[Weight],
    read: Optional[Callable[[str], np.ndarray]] = None,
    may_be_empty: bool = False,
) -> Selection:
    """Compute which elements a spec freezes, and the values that it sets.

    Args:
        spec: a `FreezeSpec`, or what one is made of.
        weights: the target's rows, as `as_weights` gives them.
        read: function of an address that gives the weight's present values, for rows that have none; it is called for the
            weights whose values matter, once for each.
        may_be_empty: whether an entry may select nothing.

    Returns:
        The selection.

    Raises:
        FreezeCompatError: as `build_masks`; or two pins want different values of one element.

    Example:
        >>> rows = as_weights({"kernel": np.zeros((4, 3)), "bias": np.zeros(3)})
        >>> build({"bias": "all"}, rows).sets
        {'bias': ElementSet(3 of 3, shape (3,))}
    """
    sets, pins = _selected(spec, _Values(weights, read, may_be_empty))
    return Selection({address: chosen.compact() for address, chosen in sets.items()}, pins)


def _selected(spec: Any, values: "_Values") -> Selection:
    """The selection, each set in the form that it was made in."""
    spec = FreezeSpec(spec)
    chosen, pins = _of_spec(spec, values)
    sets = {row.address: chosen[row.address] for row in values.rows if chosen.get(row.address)}
    if spec.operation is not None and not sets and not values.may_be_empty:
        raise SpecValueError("the spec selects no element: {!r}".format(spec))
    return Selection(sets, pins)


def merge_pins(address: str, first: Optional[Pinned], second: Pinned) -> Pinned:
    """Join the pins of one weight.

    Args:
        address: the weight, for the error.
        first: pins, or None.
        second: more of them.

    Returns:
        All of them.

    Raises:
        SpecValueError: an element is pinned at two values, compared as bits.

    Example:
        >>> a = Pinned(ElementSet.from_flat((3,), [0]), np.array([1.0]))
        >>> merge_pins("bias", a, Pinned(ElementSet.from_flat((3,), [2]), np.array([0.5]))).values.tolist()
        [1.0, 0.5]
    """
    if first is None:
        return second
    both = first.elements & second.elements
    if both:
        one, other = (pinned.values[np.isin(pinned.elements.flat(), both.flat())] for pinned in (first, second))
        apart = np.flatnonzero(different_bits(one, other))
        if len(apart):
            raise SpecValueError(
                "{}{} is pinned at {} and at {}".format(
                    address, both.positions()[apart[0]].tolist(), show(one[apart[0]]), show(other[apart[0]])
                )
            )
    elements = first.elements | second.elements
    flat = elements.flat()
    values = np.empty(len(flat), first.values.dtype)
    for pinned in (first, second):
        values[np.searchsorted(flat, pinned.elements.flat())] = pinned.values
    return Pinned(elements, values)


class _Values:
    """The rows, with their values read where they are asked for."""

    def __init__(
        self,
        rows: Sequence[Weight],
        read: Optional[Callable[[str], np.ndarray]] = None,
        may_be_empty: bool = False,
    ) -> None:
        self.rows = rows
        self.may_be_empty = may_be_empty
        self._read = read
        self._known: Dict[str, np.ndarray] = {}

    def filled(self, row: Weight) -> Weight:
        if row.values is not None or self._read is None:
            return row
        if row.address not in self._known:
            self._known[row.address] = self._read(row.address)
        return row._replace(values=self._known[row.address])


def _of_spec(spec: FreezeSpec, values: _Values) -> Tuple[Dict[str, ElementSet], Dict[str, Pinned]]:
    parts = [_of_spec(part, values) for part in spec.specs]
    pins: Dict[str, Pinned] = {}
    for _, of_part in parts:
        for address, pinned in of_part.items():
            pins[address] = merge_pins(address, pins.get(address), pinned)
    if spec.operation == "or":
        chosen: Dict[str, ElementSet] = {}
        for sets, _ in parts:
            _unite(chosen, sets)
        return chosen, pins
    if spec.operation == "and":
        chosen = dict(parts[0][0])
        for sets, _ in parts[1:]:
            chosen = {address: chosen[address] & sets[address] for address in chosen if address in sets}
        return chosen, pins
    if spec.operation == "not":
        sets = parts[0][0]
        trainable = [row for row in values.rows if row.trainable]
        return {
            row.address: ~sets[row.address] if row.address in sets else ElementSet.full(row.shape) for row in trainable
        }, pins
    return _of_rules(spec.rules, values)


def _of_rules(rules: Sequence[Rule], values: _Values) -> Tuple[Dict[str, ElementSet], Dict[str, Pinned]]:
    sets: Dict[str, ElementSet] = {}
    pins: Dict[str, Pinned] = {}
    for number, rule in enumerate(rules, 1):
        with naming_entry(number, rule.address):
            chosen = _select(rule, values)
            _unite(sets, {address: one.elements for address, one in chosen.items()})
            for address, one in chosen.items():
                for pinned in one.pins:
                    pins[address] = merge_pins(address, pins.get(address), pinned)
    return sets, pins


def _unite(sets: Dict[str, ElementSet], more: Mapping[str, ElementSet]) -> None:
    for address, elements in more.items():
        sets[address] = sets[address] | elements if address in sets else elements


def _select(rule: Rule, values: _Values) -> Dict[str, Chosen]:
    match = resolve(rule.address, values.rows)
    rows = _rows(rule, match)
    chosen: Dict[str, Chosen] = {}
    for row in rows:
        if rule.elements.needs_values:
            row = values.filled(row)
        try:
            chosen[row.address] = rule.elements.choose(row, match.kind == "weight")
        except FreezeCompatError as error:
            if row.address == rule.address:
                raise
            raise type(error)("{}: {}".format(row.address, error)) from error.__cause__
    if not values.may_be_empty and not any(one.elements for one in chosen.values()):
        raise SpecValueError("{!r} selects no element of {}".format(rule.elements, listing(rows)))
    return chosen


def _rows(rule: Rule, match: Match) -> List[Weight]:
    """Return the weights of a match that the rule is about."""
    if match.kind == "weight":
        return list(match.weights)
    if match.kind == "layer" and not rule.elements.on_layer:
        raise AmbiguousWeight(
            "this is a layer, and {!r} selects elements of one weight; write the address of one of its weights: "
            "{}".format(rule.elements, listing(match.weights))
        )
    rows = [row for row in match.weights if rule.elements.reaches(row)]
    if not rows:
        raise UnknownWeight(
            "only weights that are not trainable fit: {}; write the exact address of each to freeze it".format(
                listing(match.weights)
            )
        )
    if match.kind == "layer" and rule.elements.of_one_layer:
        return _with_units_of(match.layer, rows, rule)
    return rows


def _with_units_of(layer: Optional[str], rows: List[Weight], rule: Rule) -> List[Weight]:
    """The rows with the axes of that layer's own units; a layer around several others has none."""
    if any(row.outer_units is not None and row.outer_units[0] == layer for row in rows):
        return [_seen_from(layer, row) for row in rows]
    places = [(row.layer, row.role or row.address) for row in rows if row.unit_axis is not None]
    layers = list(dict.fromkeys(place[0] for place in places))
    if len(layers) > 1:
        raise AmbiguousWeight(
            "{!r} are those of one layer, and this one holds several: {}; write one of them".format(
                rule.elements, ", ".join(layers)
            )
        )
    if len(set(places)) < len(places):
        raise AmbiguousWeight(
            "{!r} are those of one cell, and this layer holds several; write the address of one of its weights: "
            "{}".format(rule.elements, listing(rows))
        )
    return rows


def _seen_from(layer: Optional[str], row: Weight) -> Weight:
    outer = row.outer_units
    return row._replace(unit_axis=outer[1] if outer is not None and outer[0] == layer else None, gates=None)
