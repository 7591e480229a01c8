"""A schedule at work on one `Frozen`."""

import bisect
import warnings
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set

from ..element_set import ElementSet
from ..elements import Pinned
from ..exceptions import ArgumentError, PastUnknown
from ..masks import Selection
from ..spec import naming_entry
from .account import Account, Due
from .clock import Clock
from .condition import Condition
from .entry import Entry
from .keras_callback import KerasCallback, Logs
from .session_hook import SessionHook


_WHAT_TO_DO = (
    "Freeze with fc.restore(target, path), path being what frozen.save wrote together with the checkpoint, before "
    "schedule.on(frozen); or pass the run.done of that moment as done=; or, where the training begins only now, "
    "from_here=True"
)


class _Deed(NamedTuple):
    """What was changed, so that it can be undone when the training goes back."""

    steps: int
    due: Due
    times_before: int
    added: Dict[str, ElementSet]
    removed: Dict[str, ElementSet]
    pins: Dict[str, Pinned]


class ScheduleRun(KerasCallback, SessionHook):
    """Acts on a `Frozen` when the entries of a schedule are due. Made by `Schedule.on`.

    It is a Keras callback, a SessionRunHook, and a call per step in a loop. Steps are those that the optimizer counts
    (`iterations`, in a TF1 graph `global_step`), and where it counts none the batches, runs or calls that are seen.
    Where several steps have passed between two calls, all that is due since the last one is done, in order, with the values
    of now.

    Example (with TensorFlow):
        >>> run = schedule.on(frozen)                                        # doctest: +SKIP
        >>> model.fit(x, y, callbacks=[run])                                 # doctest: +SKIP
        >>> MonitoredTrainingSession(hooks=[run])                            # doctest: +SKIP
        >>> for batch in batches:                                            # doctest: +SKIP
        ...     train(batch)
        ...     run.step()
    """

    def __init__(self, schedule: Any, frozen: Any, done: Any, from_here: bool, session: Any) -> None:
        self.schedule = schedule
        self.frozen = frozen
        self._entries: Sequence[Entry] = schedule.entries
        self._fingerprint = schedule.fingerprint
        self._account = Account(self._entries)
        if done is None and not from_here:
            done = frozen.schedule_done()
        if done is not None:
            self._account.take(done, self._fingerprint)
        self._times_before = list(self._account.times)
        self._clock = Clock(frozen, self._account, from_here)
        for number, entry in enumerate(self._entries, 1):
            with naming_entry(number, None):
                if entry.spec is not None:
                    frozen.check(entry.spec)
        self._conditions = [None if e.when_due.when is None else Condition(e.when_due.when) for e in self._entries]
        self._deeds: List[_Deed] = []
        self._epochs_before, self._ends = self._account.epochs, []  # type: int, List[int]
        self._from: Optional[int] = None  # the step from which on all deeds are known
        self._warned: Set[int] = set()
        if frozen.reads(session):
            self._begin(session)
        frozen.schedule_done = lambda: self.done

    def __repr__(self) -> str:
        return "<{!r} at step {}, epoch {}>".format(self.schedule, self._account.steps, self._account.epochs)

    @property
    def done(self) -> Dict[str, Any]:
        """How far the training is and what has been done, as JSON has it: for `Schedule.on(frozen, done=...)` after a restart."""
        return self._account.done(self._fingerprint)

    def step(
        self, n: Optional[int] = None, epoch: Optional[int] = None, logs: Logs = None, session: Any = None
    ) -> None:
        """Do what is due after a step of a training loop.

        Args:
            n: how many steps are taken. Default: what the optimizer counts, else one more than at the last call.
            epoch: how many epochs are over. Default: as many as at the last call.
            logs: `{name: number}` for the conditions; those without an `every_` are checked at each call that has it.
            session: in a TF1 graph, the session that trains; by default the default session.

        Raises:
            PastUnknown: the count has gone back to a step of which nothing is kept.
            As `Frozen.freeze` and `thaw`.
        """
        if self._from is None:
            raise ArgumentError(
                "this run began in a TF1 graph without a session that has values: pass session= to schedule.on(), after "
                "the variables are initialised or restored"
            )
        steps = self._clock.steps(1, session) if n is None else int(n)
        epochs = self._account.epochs if epoch is None else max(int(epoch), self._account.epochs)
        self._arrive(steps, epochs, session, logs, logs is not None)

    # As a callback and as a hook --------------------------------------------------------------------------------------

    def _at_epoch_begin(self, epoch: int) -> None:
        self._begin(None, epoch)

    def _after_steps(self, passed: int, logs: Logs) -> None:
        self._arrive(self._clock.steps(passed, None), self._account.epochs, None, logs)

    def _after_epoch(self, logs: Logs) -> None:
        self._arrive(self._clock.steps(0, None), self._account.epochs + 1, None, logs, True)

    def _check_graph(self) -> None:
        if not self.frozen.counts_steps():
            raise ArgumentError(
                "a hook needs a count of steps: make one with tf.train.get_or_create_global_step() and pass it to "
                "minimize(loss, global_step=...)"
            )
        for number, entry in enumerate(self._entries, 1):
            if entry.when_due.when is not None or entry.when_due.in_epochs:
                raise ArgumentError(
                    "entry {}, {!r}: a hook sees neither logs nor epochs; call run.step(epoch=..., logs=..., "
                    "session=session) after session.run instead".format(number, entry)
                )

    def _at_session(self, session: Any) -> None:
        self.frozen.become(self.frozen.sets, session)
        self._begin(session)

    def _after_run(self, session: Any) -> None:
        self._arrive(self._clock.steps(1, session), self._account.epochs, session)

    # The way of a training --------------------------------------------------------------------------------------------

    def _begin(self, session: Any, epoch: int = 0) -> None:
        """Before the first step of this process, of an epoch or in a session: a checkpoint may have been restored."""
        steps = self._clock.steps(0, session)
        if steps < self._account.steps:
            self._go_back(steps, session)
        epochs = self._account.epochs
        if not self._clock.stepped:  # later, a second fit counts its epochs from 0 again: the training goes on
            epochs = max(epoch, epochs)
            if (steps, epochs) != (self._account.steps, self._account.epochs):
                self._catch_up(steps, epochs, session)
        self._do(self._account.due(steps, epochs), steps, session)
        self._move(steps, epochs)

    def _arrive(self, steps: int, epochs: int, session: Any, logs: Logs = None, by_itself: bool = False) -> None:
        """After one or several steps, or an epoch."""
        if steps < self._account.steps:
            self._go_back(steps, session)
        self._clock.stepped = True
        due = self._account.due(steps, epochs) + self._account.checks(steps, epochs, by_itself)
        self._do(self._account.in_order(due), steps, session, logs or {})
        self._move(steps, epochs)

    def _move(self, steps: int, epochs: int) -> None:
        if self._from is None or not self._clock.stepped:
            self._from = steps
        self._ends += [steps] * (epochs - self._account.epochs)
        self._account.steps, self._account.epochs = steps, epochs

    def _do(self, due: Sequence[Due], steps: int, session: Any, logs: Mapping[str, Any] = MappingProxyType({})) -> None:
        for one in due:
            condition = self._conditions[one.index]
            if condition is None or self._holds(one.index, condition, logs):
                own = self.frozen.sets
                self._do_one(one, self._selection(one, own, session), steps, session)

    def _holds(self, index: int, condition: Condition, logs: Mapping[str, Any]) -> bool:
        missing = condition.missing(logs)
        if missing and index not in self._warned:
            self._warned.add(index)
            warnings.warn(
                "entry {}, {!r}, was not checked: the logs have no {}; they have {}".format(
                    index + 1, self._entries[index], ", ".join(missing), ", ".join(sorted(logs)) or "nothing"
                )
            )
        return not missing and condition.holds(logs)

    def _selection(self, due: Due, own: Mapping[str, ElementSet], session: Any) -> Selection:
        with naming_entry(due.index + 1, None):
            spec = self._entries[due.index].spec_of(due.times, own)
            return Selection(dict(own), {}) if spec is None else self.frozen.select(spec, session)

    def _do_one(self, due: Due, selection: Selection, steps: int, session: Any) -> None:
        before = self.frozen.sets
        if selection.sets:
            getattr(self.frozen, self._entries[due.index].action)(selection, session)
        after = self.frozen.sets
        deed = _Deed(
            steps, due, self._account.times[due.index], _less(after, before), _less(before, after), selection.pins
        )
        self._account.times[due.index] = due.times
        if deed.added or deed.removed or deed.pins or self._conditions[due.index] is not None:
            self._deeds.append(deed)

    # After a restart --------------------------------------------------------------------------------------------------

    def _catch_up(self, steps: int, epochs: int, session: Any) -> None:
        """Let be frozen what was when the checkpoint that was restored was saved; the slots in it are the right ones."""
        late = self._account.due(steps - 1, epochs - 1)
        for index, entry in enumerate(self._entries):
            acted_too_early = self._account.times[index] > self._times_before[index]
            checked = entry.when_due.when is not None and (entry.when_due.period or not self._account.times[index])
            if checked or (entry.forgets and (acted_too_early or any(due.index == index for due in late))):
                raise PastUnknown(
                    "entry {}, {!r}: the training is at step {}, epoch {}, known is what was done up to step {}, epoch {}, "
                    "and what this entry did in between can't be found out now. {}".format(
                        index + 1, entry, steps, epochs, self._account.steps, self._account.epochs, _WHAT_TO_DO
                    )
                )
        own = self.frozen.sets
        for due in late:
            selection = self._selection(due, own, session)
            own = (_plus if self._entries[due.index].action == "freeze" else _less)(own, selection.sets)
            self._account.times[due.index] = due.times
        self.frozen.become(own, session)

    def _go_back(self, steps: int, session: Any) -> None:
        """Undo what was done later than the checkpoint that was restored; the slots in it are the right ones."""
        if self._from is None or steps < self._from:
            raise PastUnknown(
                "the training has gone back from step {} to step {}, and what was frozen there is not known. {}".format(
                    self._account.steps, steps, _WHAT_TO_DO
                )
            )
        own, again = self.frozen.sets, []
        while self._deeds and self._deeds[-1].steps >= steps:
            deed = self._deeds.pop()
            own = _plus(_less(own, deed.added), deed.removed)
            self._account.times[deed.due.index] = deed.times_before
            if deed.steps == steps:
                again.append(deed)
        self.frozen.become(own, session)
        self._ends = self._ends[: bisect.bisect_right(self._ends, steps)]
        self._account.go_back(steps, self._epochs_before + len(self._ends))
        for deed in reversed(again):  # the checkpoint may have been saved just before them
            self._do_one(deed.due, Selection(deed.added or deed.removed, deed.pins), steps, session)


def _plus(of: Mapping[str, ElementSet], more: Mapping[str, ElementSet]) -> Dict[str, ElementSet]:
    return dict(
        of, **{address: of[address] | elements if address in of else elements for address, elements in more.items()}
    )


def _less(of: Mapping[str, ElementSet], less: Mapping[str, ElementSet]) -> Dict[str, ElementSet]:
    found = {address: elements - less[address] if address in less else elements for address, elements in of.items()}
    return {address: elements for address, elements in found.items() if elements}
