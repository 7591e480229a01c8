"""What `verify()` compares with: the values that frozen elements had, in eager mode or in each session of a graph."""

import weakref
from typing import Any, Dict, List, Mapping, Sequence

import numpy as np

from .. import _compat
from ..element_set import ElementSet
from ..exceptions import Moved
from ..reference import Reference
from .targets import Target


class References:
    """The references of one Frozen. `session` is None in eager mode."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._eager = Reference()
        self._sessions: Any = weakref.WeakKeyDictionary()

    def take(self, session: Any, elements: Mapping[str, ElementSet]) -> None:
        """Let the present values be the reference, where there are any."""
        for address, values in self._present(list(elements), session).items():
            self._of(session).take(address, elements[address], values)

    def take_missing(self, session: Any, own: Mapping[str, ElementSet]) -> None:
        """For elements without a reference: what the first step of the session found, else the present values."""
        self.take_first(session, own)
        self.take(session, self.missing(session, own))

    def take_first(self, session: Any, own: Mapping[str, ElementSet]) -> None:
        """For elements that were frozen before the session had values: what its first step found."""
        for address, elements in self.missing(session, own).items():
            captured = self._target.held[address].captured(session)
            if captured is not None:
                self._of(session).take_values(address, elements, captured)

    def drop(self, address: str, elements: ElementSet) -> None:
        """Forget elements that are frozen no more."""
        for reference in [self._eager] + list(self._sessions.values()):
            reference.drop(address, elements)

    def missing(self, session: Any, own: Mapping[str, ElementSet]) -> Dict[str, ElementSet]:
        """The elements that have no reference in this session."""
        missing = {address: self._of(session).missing(address, elements) for address, elements in own.items()}
        return {address: elements for address, elements in missing.items() if elements}

    def moved(self, session: Any, addresses: Sequence[str]) -> List[Moved]:
        """The elements whose bytes differ from their reference."""
        return self._of(session).moved(self._present(addresses, session))

    def apart(self, session: Any, addresses: Sequence[str]) -> Dict[str, ElementSet]:
        """The same as sets, of each weight that has a reference."""
        return self._of(session).apart(self._present(addresses, session))

    def _of(self, session: Any) -> Reference:
        return self._eager if session is None else self._sessions.setdefault(session, Reference())

    def _present(self, addresses: Sequence[str], session: Any) -> Dict[str, np.ndarray]:
        """The present values; {} in a graph without a session, and nothing for what is not initialised."""
        if self._target.graph is None:
            return {address: self._target.held[address].read() for address in addresses}
        found = {}
        for address in addresses if session is not None else ():
            try:
                found[address] = self._target.held[address].read(session)
            except _compat.tensorflow().errors.FailedPreconditionError:
                pass  # the reference will be what the first step finds
        return found
