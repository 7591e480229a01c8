"""From a spec and weight rows to the elements that are frozen: the one place where both backends get their masks."""

from typing import Any, Dict, Iterable, List, Mapping, Sequence, Union

import numpy as np

from .element_set import ElementSet
from .exceptions import AmbiguousWeight, FreezeCompatError, SpecValueError, UnknownWeight
from .resolve import Match, Weight, as_weights, listing, resolve
from .spec import FreezeSpec, Rule, naming_entry

__all__ = ["ElementSet", "build_masks", "build_sets"]


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
    sets = build_sets(FreezeSpec(spec), as_weights(weights))
    return {address: np.array(chosen.dense()) for address, chosen in sets.items()}


def build_sets(spec: Any, weights: Sequence[Weight]) -> Dict[str, ElementSet]:
    """Compute which elements a spec freezes.

    Args:
        spec: a `FreezeSpec`, or what one is made of.
        weights: the target's rows, as `as_weights` gives them.

    Returns:
        `{canonical address: set}`, only sets with at least one element, in the order of `weights`.

    Raises:
        FreezeCompatError: as `build_masks`.

    Example:
        >>> build_sets({"bias": "all"}, as_weights({"kernel": np.zeros((4, 3)), "bias": np.zeros(3)}))
        {'bias': ElementSet(3 of 3, shape (3,))}
    """
    chosen: Dict[str, ElementSet] = {}
    for number, rule in enumerate(FreezeSpec(spec).rules, 1):
        with naming_entry(number, rule.address):
            for address, selected in _select(rule, weights).items():
                chosen[address] = chosen[address] | selected if address in chosen else selected
    return {row.address: chosen[row.address] for row in weights if chosen.get(row.address)}


def _select(rule: Rule, weights: Sequence[Weight]) -> Dict[str, ElementSet]:
    rows = _rows(rule, resolve(rule.address, weights))
    selected: Dict[str, ElementSet] = {}
    for row in rows:
        try:
            selected[row.address] = rule.elements.select(row)
        except FreezeCompatError as error:
            if row.address == rule.address:
                raise
            raise type(error)("{}: {}".format(row.address, error)) from error.__cause__
    if not any(selected.values()):
        raise SpecValueError("{!r} selects no element of {}".format(rule.elements, listing(rows)))
    return selected


def _rows(rule: Rule, match: Match) -> List[Weight]:
    """Return the weights of a match that the rule is about."""
    if match.kind == "weight":
        return list(match.weights)
    if match.kind == "layer" and not rule.elements.on_layer:
        raise AmbiguousWeight(
            "this is a layer, and {!r} selects elements of one weight; write the address of one of its weights: "
            "{}".format(rule.elements, listing(match.weights))
        )
    rows = [row for row in match.weights if row.trainable or not rule.elements.trainable_only]
    if not rows:
        raise UnknownWeight(
            "only weights that are not trainable fit: {}; write the exact address of each to freeze it".format(
                listing(match.weights)
            )
        )
    return rows
