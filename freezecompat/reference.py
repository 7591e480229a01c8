"""What frozen elements held when they were frozen, and which of them hold other bits now: plain numpy."""

from typing import Dict, List, Mapping, NamedTuple

import numpy as np

from ._bits import different_bits
from .element_set import ElementSet
from .exceptions import Moved


class Values(NamedTuple):
    """What some elements of one weight held: flat indices (int64, ascending) and their values, both of length k."""

    indices: np.ndarray
    values: np.ndarray


class _Kept(NamedTuple):
    """The elements of one weight that have a reference, and what they held, in C order."""

    elements: ElementSet
    values: np.ndarray


class Reference:
    """The values that frozen elements are compared with, by address.

    Example:
        >>> reference = Reference()
        >>> weight = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> reference.take("kernel", ElementSet.from_flat((2, 2), [1, 2]), weight)
        >>> weight[1, 0] = -2.0
        >>> [(m.weight, m.element, float(m.before), float(m.now)) for m in reference.moved({"kernel": weight})]
        [('kernel', (1, 0), 2.0, -2.0)]
    """

    def __init__(self) -> None:
        self._kept: Dict[str, _Kept] = {}

    def take(self, address: str, elements: ElementSet, weight: np.ndarray) -> None:
        """Let the present values of `elements` be their reference, whatever it was before."""
        self.drop(address, elements)
        self._add(address, elements, np.asarray(weight).reshape(-1)[elements.flat()])

    def take_values(self, address: str, elements: ElementSet, known: Values) -> None:
        """The same, from values that were kept elsewhere, for those of `elements` that are among them."""
        here = np.isin(known.indices, elements.flat())
        self.drop(address, elements)
        self._add(address, ElementSet.from_flat(elements.shape, known.indices[here]), known.values[here])

    def drop(self, address: str, elements: ElementSet) -> None:
        """Forget `elements`."""
        old = self._kept.pop(address, None)
        left = old.elements - elements if old is not None else None
        if left:
            self._kept[address] = _Kept(left, old.values[np.searchsorted(old.elements.flat(), left.flat())])

    def _add(self, address: str, elements: ElementSet, values: np.ndarray) -> None:
        """Elements that have no reference yet."""
        old = self._kept.get(address)
        if old is not None:
            order = np.argsort(np.concatenate([old.elements.flat(), elements.flat()]), kind="mergesort")
            elements, values = old.elements | elements, np.concatenate([old.values, values])[order]
        if elements:
            self._kept[address] = _Kept(elements, values)

    def missing(self, address: str, elements: ElementSet) -> ElementSet:
        """Those of `elements` that have no reference."""
        kept = self._kept.get(address)
        return elements if kept is None else elements - kept.elements

    def apart(self, weights: Mapping[str, np.ndarray]) -> Dict[str, ElementSet]:
        """The elements whose bytes differ from their reference, of each weight that has one, by address."""
        found = {}
        for address in sorted(self._kept):
            elements, before = self._kept[address]
            indices = elements.flat()
            differ = different_bits(before, np.asarray(weights[address]).reshape(-1)[indices])
            found[address] = ElementSet.from_flat(elements.shape, indices[differ])
        return found

    def moved(self, weights: Mapping[str, np.ndarray]) -> List[Moved]:
        """Every element whose bytes differ from its reference, by address, then in C order."""
        found = []
        for address, elements in self.apart(weights).items():
            kept, flat = self._kept[address], elements.flat()
            before = kept.values[np.searchsorted(kept.elements.flat(), flat)]
            now = np.asarray(weights[address]).reshape(-1)[flat]
            for k, element in enumerate(elements.positions()):
                found.append(Moved(address, tuple(int(i) for i in element), before[k], now[k]))
        return found
