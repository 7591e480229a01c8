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


_NOTHING = Values(np.zeros(0, np.int64), np.zeros(0))


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
        self._values: Dict[str, Values] = {}

    def take(self, address: str, elements: ElementSet, weight: np.ndarray) -> None:
        """Let the present values of `elements` be their reference, whatever it was before."""
        self.drop(address, elements)
        indices = elements.flat()
        self._insert(address, Values(indices, np.asarray(weight).reshape(-1)[indices]))

    def take_values(self, address: str, elements: ElementSet, known: Values) -> None:
        """The same, from values that were kept elsewhere, for those of `elements` that are among them."""
        here = np.isin(known.indices, elements.flat())
        self.drop(address, elements)
        self._insert(address, Values(known.indices[here], known.values[here]))

    def drop(self, address: str, elements: ElementSet) -> None:
        """Forget `elements`."""
        old = self._values.pop(address, _NOTHING)
        keep = ~np.isin(old.indices, elements.flat())
        if keep.any():
            self._values[address] = Values(old.indices[keep], old.values[keep])

    def _insert(self, address: str, new: Values) -> None:
        old = self._values.get(address)
        if old is not None:
            indices = np.concatenate([old.indices, new.indices])
            order = np.argsort(indices, kind="mergesort")
            new = Values(indices[order], np.concatenate([old.values, new.values])[order])
        if len(new.indices):
            self._values[address] = new

    def missing(self, address: str, elements: ElementSet) -> ElementSet:
        """Those of `elements` that have no reference."""
        known = self._values.get(address, _NOTHING).indices
        return elements - ElementSet.from_flat(elements.shape, known)

    def apart(self, weights: Mapping[str, np.ndarray]) -> Dict[str, ElementSet]:
        """The elements whose bytes differ from their reference, of each weight that has one, by address."""
        found = {}
        for address in sorted(self._values):
            indices, before = self._values[address]
            weight = np.asarray(weights[address])
            differ = different_bits(before, weight.reshape(-1)[indices])
            found[address] = ElementSet.from_flat(weight.shape, indices[differ])
        return found

    def moved(self, weights: Mapping[str, np.ndarray]) -> List[Moved]:
        """Every element whose bytes differ from its reference, by address, then in C order."""
        found = []
        for address, elements in self.apart(weights).items():
            indices, values = self._values[address]
            flat = elements.flat()
            before, now = values[np.searchsorted(indices, flat)], np.asarray(weights[address]).reshape(-1)[flat]
            for k, element in enumerate(elements.positions()):
                found.append(Moved(address, tuple(int(i) for i in element), before[k], now[k]))
        return found
