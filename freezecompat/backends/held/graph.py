"""A weight of a TF1 graph."""

import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Set

import numpy as np

from ... import _compat
from ...element_set import ElementSet
from ...reference import Values
from ..writes import Write
from .base import HeldWeight
from .session_mask import ListedMask, SessionMask


class GraphWeight(HeldWeight):
    """A weight of a TF1 graph: each session has a mask of its own.

    `_built_version` is the version of the constants that a session reads until it is told, and so of every one that is not
    in `_sessions`.
    """

    _mask_of_sessions = SessionMask

    def __init__(self, variable: Any) -> None:
        super().__init__(variable)
        self.graph = _compat.graph_of(variable)
        self._reached: Set[Any] = set()  # ops that need not be looked at any more
        self._mask: Any = None
        self._built_version = 0
        self._sessions: Any = weakref.WeakKeyDictionary()

    def mask(self, rows: Any = None) -> Any:
        mask = self._session_mask().mask
        return mask if rows is None else _compat.tensorflow().gather(mask, rows, axis=_compat.zeros([], "int32"))

    def mask_read_after(self, gradient: Any) -> Any:
        """In this context the phases read the mask once a gradient is there, which their run may wait for."""
        return self._session_mask().read_after(gradient)

    def _session_mask(self) -> Any:
        if self._mask is None:
            self._build()
        return self._mask

    def _build(self) -> None:
        tf, v1 = _compat.tensorflow(), _compat.v1()
        self._mask = self._mask_of_sessions(self.frozen)
        with tf.init_scope(), v1.name_scope("freezecompat"):
            self._first_indices = _compat.variable_of_any_length("int64", "first_indices")
            self._first_values = _compat.variable_of_any_length(self.dtype, "first_values")
            self._has_first = self._first_values.is_initialized()
        self._built_version = self._version

    def put_back(self, snapshot: Any) -> Any:
        """Write the held values over what the step left in the frozen elements, if it did not leave them alone.

        Most steps do, and then nothing is written: another optimizer may step the free elements at this moment, in the
        same Session.run (test_two_train_ops_on_one_variable_in_one_run).
        """
        if not _compat.can_write_in_cond(self.variable):
            return super().put_back(snapshot)
        write = super().put_back
        return _compat.v1().cond(self._moved(snapshot), lambda: write(snapshot).op, _compat.tensorflow().no_op)

    def _moved(self, snapshot: Any) -> Any:
        """Whether a frozen element has another value than before."""
        tf = _compat.tensorflow()
        different = _compat.bits_differ(_compat.as_tensor(self.variable), snapshot)
        return _compat.any_true(tf.logical_and(self.mask(), different))

    def keep_first(self, snapshot: Any) -> Any:
        """An op that, in the first step of a session, keeps the held values for `captured`."""
        tf, v1 = _compat.tensorflow(), _compat.v1()
        self._session_mask()  # what is asked and assigned below is built with it

        def keep() -> Any:
            indices, values = self._listed(snapshot)
            return tf.group(self._first_indices.assign(indices).op, self._first_values.assign(values).op)

        return v1.cond(self._first_values.is_initialized(), tf.no_op, keep)

    def _listed(self, snapshot: Any) -> List[Any]:
        """The frozen positions and the values there."""
        tf = _compat.tensorflow()
        indices = _compat.true_indices(tf.reshape(self.mask(), [-1]))
        return [indices, tf.gather(tf.reshape(snapshot, [-1]), indices)]

    def captured(self, session: Any) -> Optional[Values]:
        """The held values that the first step of a session found, or None before that step."""
        if not self.built or not session.run(self._has_first):
            return None
        return Values(*session.run([self._first_indices, self._first_values]))

    def read(self, session: Any = None) -> np.ndarray:
        return session.run(self.variable)

    def write(self, value: np.ndarray, session: Any = None) -> None:
        # The initializer's own input is fed: no new op, so that a finalized graph will do.
        initializer = self.variable.initializer
        session.run(initializer, {initializer.inputs[1]: value})

    def present_session(self) -> Any:
        session = _compat.v1().get_default_session()
        return session if session is not None and session.graph is self.graph else None

    def ignore_updates(self, ops: Iterable[Any]) -> None:
        self._reached.update(ops)

    @property
    def built(self) -> bool:
        return self._mask is not None

    def stale(self, session: Any) -> bool:
        """True where the steps of this session don't know of a freeze or thaw."""
        return self.built and self._sessions.get(session, self._built_version) < self._version

    def bring(self, session: Any = None) -> ElementSet:
        if session is None or not self.stale(session):
            return ElementSet.empty(self.shape)
        changed = self._changed_since(self._sessions.get(session, self._built_version))
        self._mask.tell(session, self.frozen)
        self._reset_slots(changed, session)
        self._sessions[session] = self._version
        return changed

    def forget_first_mask(self) -> None:
        if self.frozen or not self.built or not self._mask.has_first:
            return
        for session in _compat.live_sessions(self.graph):
            self._sessions.setdefault(session, self._built_version)  # it may have run, and then keeps the old constants
        self._mask.forget_first()
        self._built_version = self._version

    def missed_updates(self, found: Dict[str, List[Write]], remade: Set[Any]) -> List[Any]:
        """Those ops of `writes` by which an optimizer updates this weight without reading our mask."""
        known = self._reached | remade
        updates = [write for write in found.get(self.source.name, ()) if write.is_update]
        return [write.op for write in updates if write.op not in known and write.entry not in known]

    @property
    def source(self) -> Any:
        """The op that every op which reads or writes the variable takes as its input."""
        return self.variable.op if _compat.is_reference(self.variable) else self.variable.handle.op


class LargeGraphWeight(GraphWeight):
    """One of which a step does not copy the whole where few elements are frozen.

    A snapshot is of rank 1: the values at the frozen positions where those are few, else all values. Which it is, is asked
    in each phase anew, at the place of the step's order where the phase stands.
    """

    _mask_of_sessions = ListedMask

    def snapshot(self) -> Any:
        whole = super().snapshot
        return self._where_few(self._gathered, lambda: self._flat(whole()))

    def _moved(self, snapshot: Any) -> Any:
        moved = super()._moved

        def moved_there(positions: Any) -> Any:
            return _compat.any_true(_compat.bits_differ(self._gathered(positions), snapshot))

        return self._where_few(moved_there, lambda: moved(self._shaped(snapshot)))

    def corrected(self, snapshot: Any, value: Any) -> Any:
        corrected, flat = super().corrected, self._flat(value)
        return self._shaped(
            self._where_few(
                lambda positions: _compat.replaced_at(flat, positions, snapshot),
                lambda: self._flat(corrected(self._shaped(snapshot), self._shaped(flat))),
            )
        )

    def _listed(self, snapshot: Any) -> List[Any]:
        listed, identity = super()._listed, _compat.tensorflow().identity
        return self._where_few(
            lambda positions: [identity(positions), identity(snapshot)], lambda: listed(self._shaped(snapshot))
        )

    def _where_few(self, by_position: Callable[[Any], Any], by_mask: Callable[[], Any]) -> Any:
        mask = self._session_mask()
        few = _compat.tensorflow().identity(mask.few)
        return _compat.v1().cond(few, lambda: by_position(mask.positions), by_mask)

    def _gathered(self, positions: Any) -> Any:
        return _compat.tensorflow().gather(self._flat(self.variable), positions)

    @staticmethod
    def _flat(value: Any) -> Any:
        return _compat.tensorflow().reshape(_compat.as_tensor(value), [-1])

    def _shaped(self, flat: Any) -> Any:
        return _compat.tensorflow().reshape(flat, self.shape)
