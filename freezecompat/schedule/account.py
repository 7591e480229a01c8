"""How far a training is, what is due there, and what has been done: plain numbers, which can be kept as JSON."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .._json_text import check_keys
from .._show import show
from ..exceptions import SpecTypeError, SpecValueError
from .entry import Entry

_VERSION = 1
_KEYS = ("freezecompat_schedule_done", "schedule", "steps", "epochs", "times", "offset")


class Due(NamedTuple):
    """An entry that is due.

    Attributes:
        index: its position in the schedule.
        at: the step or epoch for which it is due; several of its times in one are the last of them.
        times: how often it has been due then, this time included; for a condition, how often it would have acted.
    """

    index: int
    at: int
    times: int


class Account:
    """The account of one schedule.

    Attributes:
        steps, epochs: how many are taken.
        times: for each entry how often it has acted.
        offset: steps that the optimizer's own count lacks.

    Example:
        >>> from freezecompat.schedule import Schedule
        >>> schedule = Schedule().thaw(step=3).freeze({"a": "all"}, every_steps=2)
        >>> account = Account(schedule.entries)
        >>> account.due(5, 0)
        [Due(index=0, at=3, times=1), Due(index=1, at=4, times=2)]
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self.steps = 0
        self.epochs = 0
        self.times = [0] * len(entries)
        self.offset = 0

    def due(self, steps: int, epochs: int) -> List[Due]:
        """The entries without a condition that are due when so many steps and epochs are taken, in the order of their times."""
        found = []
        for index, entry in enumerate(self._entries):
            when = entry.when_due
            taken = epochs if when.in_epochs else steps
            times = when.times(taken)
            if when.when is None and times > self.times[index]:
                found.append(Due(index, when.latest(taken), times))
        return self.in_order(found)

    def checks(self, steps: int, epochs: int, by_itself: bool) -> List[Due]:
        """The entries with a condition that is to be checked now.

        Args:
            steps, epochs: how many are taken now; `self.steps` and `self.epochs` are those of the last time.
            by_itself: whether this is a moment for conditions that no `every_` goes with.
        """
        found = []
        for index, entry in enumerate(self._entries):
            when = entry.when_due
            if when.when is None:
                continue
            before, now = (self.epochs, epochs) if when.in_epochs else (self.steps, steps)
            if when.period is None:
                checked = by_itself and not self.times[index]
            else:
                checked = when.times(now) > when.times(before)
            if checked:
                found.append(Due(index, now if when.period is None else when.latest(now), self.times[index] + 1))
        return found

    def go_back(self, steps: int, epochs: int) -> None:
        """Be where it was then; conditions, of which the counts say nothing, have their times set by the caller."""
        for index, entry in enumerate(self._entries):
            if entry.when_due.when is None:
                times = entry.when_due.times(epochs if entry.when_due.in_epochs else steps)
                self.times[index] = min(times, self.times[index])
        self.steps, self.epochs = steps, epochs

    def in_order(self, found: List[Due]) -> List[Due]:
        """Sorted by the time for which each is due: steps, then epochs, then as they stand in the schedule."""
        return sorted(found, key=lambda due: (self._entries[due.index].when_due.in_epochs, due.at, due.index))

    def done(self, fingerprint: Optional[str]) -> Dict[str, Any]:
        """All of it, as JSON has it.

        Args:
            fingerprint: of the schedule, if it has one.
        """
        values = (_VERSION, fingerprint, self.steps, self.epochs, list(self.times), self.offset)
        return dict(zip(_KEYS, values))

    def take(self, done: Any, fingerprint: Optional[str]) -> None:
        """Go on from what `done` gave.

        Raises:
            SpecTypeError, SpecValueError: it did not, or for another schedule.
        """
        if not isinstance(done, dict):
            raise SpecTypeError("done= is what run.done gave, a dict; received {}".format(show(done)))
        check_keys(done, _KEYS, "done")
        if done["freezecompat_schedule_done"] != _VERSION:
            raise SpecValueError("done has version {}".format(show(done["freezecompat_schedule_done"])))
        times = done["times"] if isinstance(done["times"], list) else [None]
        if not all(map(_is_count, times + [done["steps"], done["epochs"]])) or type(done["offset"]) is not int:
            raise SpecValueError("done has counts that are none: {}".format(show(done)))
        known = done["schedule"]
        if len(times) != len(self._entries) or (known is not None and fingerprint is not None and known != fingerprint):
            raise SpecValueError(
                "done is that of another schedule. Go on with the one that it was saved with; or begin with this one now: "
                "schedule.on(frozen, from_here=True); two at the same time are one: (first + second).on(frozen)"
            )
        self.steps, self.epochs, self.times, self.offset = done["steps"], done["epochs"], list(times), done["offset"]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
