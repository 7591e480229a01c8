"""A weight of a TF1 graph."""

import contextlib
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set

import numpy as np

from ... import _compat
from ...element_set import ElementSet
from ...reference import Values
from ..writes import Write
from .base import HeldWeight
from .session_mask import Frozen, SessionMask


class GraphWeight(HeldWeight):
    """A weight of a TF1 graph: each session has a mask of its own.

    `_built_version` is the version of the constants that a session reads until it is told, and so of every one that is not
    in `_sessions`.
    """

    def __init__(self, variable: Any) -> None:
        super().__init__(variable)
        self.graph = _compat.graph_of(variable)
        self._reached: Set[Any] = set()  # ops that need not be looked at any more
        self._mask: Any = None
        self._built_version = 0
        self._sessions: Any = weakref.WeakKeyDictionary()

    def mask(self, rows: Any = None) -> Any:
        mask = self._frozen_now().mask
        return mask if rows is None else _compat.tensorflow().gather(mask, rows)

    def _frozen_now(self) -> Frozen:
        if self._mask is None:
            self._build()
        return self._mask.frozen

    @contextlib.contextmanager
    def mask_read_after(self, gradient: Any) -> Iterator[None]:
        """In this context the phases read the mask once a gradient is there, which their run may wait for."""
        shared = self._frozen_now()
        with _compat.control_dependencies([gradient]):
            self._mask.frozen = self._mask.read()
        try:
            yield
        finally:
            self._mask.frozen = shared

    def _build(self) -> None:
        tf, v1 = _compat.tensorflow(), _compat.v1()
        self._mask = SessionMask(self.frozen)
        with tf.init_scope(), v1.name_scope("freezecompat"):
            self._first_indices = _compat.variable_of_any_length(tf.zeros([0], tf.int64), "first_indices")
            self._first_values = _compat.variable_of_any_length(tf.zeros([0], self.dtype), "first_values")
            self._has_first = self._first_values.is_initialized()
        self._built_version = self._version

    # A snapshot is of rank 1: the values at the frozen positions where those are few, else all values. Which it is, is told
    # by `few`, anew where the ops of a phase are to wait for what runs before it.

    def snapshot(self) -> Any:
        whole = super().snapshot
        return self._where_few(lambda at: self._gathered(at), lambda: self._flat(whole()))

    def put_back(self, snapshot: Any) -> Any:
        """Write the held values over what the step left in the frozen elements, if it did not leave them alone.

        Most steps do, and then nothing is written: another optimizer may step the free elements at this moment, in the
        same Session.run (test_two_train_ops_on_one_variable_in_one_run).
        """
        tf, v1 = _compat.tensorflow(), _compat.v1()
        put_back = super().put_back
        if not _compat.can_write_in_cond(self.variable):
            return put_back(snapshot)
        moved = self._where_few(
            lambda at: tf.reduce_any(_compat.bits_differ(self._gathered(at), snapshot)),
            lambda: tf.reduce_any(
                tf.logical_and(self._flat(self.mask()), _compat.bits_differ(self._flat(self.variable), snapshot))
            ),
        )
        return v1.cond(moved, lambda: put_back(snapshot).op, tf.no_op)

    def corrected(self, snapshot: Any, value: Any) -> Any:
        flat = self._flat(value)
        corrected = self._where_few(
            lambda at: _compat.replaced_at(flat, at, snapshot),
            lambda: _compat.select(self._flat(self.mask()), snapshot, flat),
        )
        return _compat.tensorflow().reshape(corrected, self.shape)

    def _where_few(self, by_position: Callable[[Any], Any], by_mask: Callable[[], Any]) -> Any:
        frozen = self._frozen_now()
        few = _compat.tensorflow().identity(frozen.few)
        return _compat.v1().cond(few, lambda: by_position(frozen.positions), by_mask)

    def _gathered(self, positions: Any) -> Any:
        return _compat.tensorflow().gather(self._flat(self.variable), positions)

    @staticmethod
    def _flat(value: Any) -> Any:
        return _compat.tensorflow().reshape(_compat.as_tensor(value), [-1])

    def keep_first(self, snapshot: Any) -> Any:
        """An op that, in the first step of a session, keeps the held values for `captured`."""
        tf, v1 = _compat.tensorflow(), _compat.v1()
        mask = self.mask()

        def keep() -> Any:
            indices = self._where_few(lambda at: tf.identity(at), lambda: _compat.true_indices(self._flat(mask)))
            values = self._where_few(lambda _: tf.identity(snapshot), lambda: tf.gather(snapshot, indices))
            return tf.group(self._first_indices.assign(indices).op, self._first_values.assign(values).op)

        return v1.cond(self._first_values.is_initialized(), tf.no_op, keep)

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
