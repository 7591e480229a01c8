"""Entries that freeze a fraction more each time: what the k-th time adds to what is frozen already."""

import math
from dataclasses import dataclass, replace
from typing import Mapping, Union

from ..element_set import ElementSet
from ..elements import Element
from ..elements.by_value import Random, Ranked
from ..exceptions import SpecValueError
from ..resolve import Weight
from ..spec import FreezeSpec, naming_entry


@dataclass(frozen=True)
class Grown(Element):
    """The elements by which k times the amount of each weight is frozen, those that are frozen already among them.

    Example:
        >>> import numpy as np
        >>> from freezecompat.elements import smallest
        >>> weight = Weight("bias", (4,), values=np.array([0.1, 0.4, 0.3, 0.2]))
        >>> Grown(smallest(0.25), 2, {"bias": ElementSet.from_flat((4,), [1])}).select(weight).flat().tolist()
        [0]
    """

    part: Union[Ranked, Random]
    times: int
    frozen: Mapping[str, ElementSet]

    @property
    def needs_values(self) -> bool:  # type: ignore[override]
        return self.part.needs_values

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        frozen = self.frozen.get(weight.address, ElementSet.empty(weight.shape))
        count = _count(self.part.amount, self.times, frozen.size)
        if isinstance(self.part, Random):  # of a greater count it draws the same ones and more
            return replace(self.part, amount=count).select(weight)
        if count <= frozen.count:
            return ElementSet.empty(weight.shape)
        free = (~frozen).flat()
        values = None if weight.values is None else weight.values.reshape(-1)[free]
        ranked = replace(self.part, amount=count - frozen.count)
        chosen = ranked.select(Weight(weight.address, free.shape, values=values))
        return ElementSet.from_flat(weight.shape, free[chosen.flat()])


def grown(spec: FreezeSpec, times: int, frozen: Mapping[str, ElementSet]) -> FreezeSpec:
    """The spec that a growing entry freezes for the k-th time.

    Args:
        spec: what `check_grows` lets pass.
        times: k, from 1.
        frozen: `{address: elements}` that are frozen already.

    Returns:
        The spec.
    """
    return FreezeSpec([(rule.address, Grown(rule.elements, times, frozen)) for rule in spec.rules])


def check_grows(spec: FreezeSpec) -> None:
    """Raise unless each entry of a spec is an amount that can grow.

    Example:
        >>> check_grows(FreezeSpec({"kernel": "all"}))
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: entry 1, 'kernel': growing=True takes smallest, largest or random, of \
which more is frozen each time; received 'all'
    """
    if spec.operation is not None:
        raise SpecValueError("growing=True takes a spec of addresses, not a combination: {!r}".format(spec))
    for number, rule in enumerate(spec.rules, 1):
        with naming_entry(number, rule.address):
            if not isinstance(rule.elements, (Ranked, Random)):
                raise SpecValueError(
                    "growing=True takes smallest, largest or random, of which more is frozen each time; received "
                    "{!r}".format(rule.elements)
                )


def _count(amount: Union[int, float], times: int, size: int) -> int:
    if isinstance(amount, int):
        return min(size, amount * times)
    # 3 * 0.1 is above 0.3, and must not be one element more.
    return int(math.floor(min(1.0, round(amount * times, 12)) * size + 0.5))
