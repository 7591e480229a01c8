"""What a schedule asks of a `Frozen`."""

from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from .. import _compat
from ..backends.slots import slots_kept
from ..element_set import ElementSet
from ..masks import Selection
from ..resolve import resolve
from ..spec import FreezeSpec, naming_entry


class ActedOn:
    """The part of `Frozen` that `ScheduleRun` uses, beside `freeze` and `thaw`."""

    _target: Any
    _own: Dict[str, ElementSet]
    _attachments: Any
    _references: Any
    _live: Callable[[], None]
    _session: Callable[[Any], Any]
    _needed: Callable[[Any], Any]
    _select: Callable[..., Selection]
    _change: Callable[..., None]

    #: What the latest schedule wants `save` to keep, or what `restore` found kept.
    schedule_done: Callable[[], Optional[Dict[str, Any]]] = staticmethod(lambda: None)  # type: ignore[assignment]

    @property
    def sets(self) -> Dict[str, ElementSet]:
        """{canonical address: elements} that this Frozen owns; a copy."""
        return {address: elements for address, elements in self._own.items() if elements}

    def check(self, spec: FreezeSpec) -> None:
        """Raise where a spec does not fit the target, as far as that can be told without the values of weights."""
        for number, rule in enumerate(spec.every_rule(), 1):
            with naming_entry(number, rule.address):
                resolve(rule.address, self._target.rows)
        if not any(rule.elements.needs_values for rule in spec.every_rule()):
            self._select(spec, None)

    def select(self, spec: FreezeSpec, session: Any = None) -> Selection:
        """What a spec selects now, which may be nothing; `freeze` and `thaw` take it in place of a spec."""
        self._live()
        return self._select(spec, self._session(session), may_be_empty=True)

    def become(self, own: Mapping[str, ElementSet], session: Any = None) -> None:
        """Own just these elements, and let a session know, whose slots are those that a checkpoint has brought."""
        self._live()
        session = self._session(session)
        wanted = dict({address: ElementSet.empty(elements.shape) for address, elements in self._own.items()}, **own)
        with slots_kept(self._target.held.values()):
            self._change(wanted, session)
        if session is not None:
            self._references.take_missing(session, self._own)

    def reads(self, session: Any = None) -> bool:
        """True where values can be read: in eager mode, or in a session that has them."""
        self._live()
        session = self._session(session)
        return self._target.graph is None or (session is not None and self._target.has_values(session))

    def counts_steps(self) -> bool:
        """True where an optimizer or the graph counts the steps that are taken."""
        return self._attachments.step_counter() is not None

    def steps_taken(self, session: Any = None) -> Optional[Tuple[Any, int]]:
        """The variable that counts the steps, and what it says; None where nothing counts them."""
        self._live()
        counter = self._attachments.step_counter()
        if counter is None:
            return None
        if self._target.graph is None:
            with _compat.init_scope():
                return counter, int(counter.numpy())
        return counter, int(self._needed(self._session(session)).run(counter))
