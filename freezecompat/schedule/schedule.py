"""The schedule: which elements are frozen and thawed when, immutable, in Python and as a JSON or YAML file."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from .._json_text import check_keys, read_json
from .._show import show
from .._text_file import check_version, read_file, write_file
from ..exceptions import SpecTypeError, SpecValueError
from ..spec import naming_entry
from .entry import Entry, entry, read_entry
from .run import ScheduleRun

_VERSION = 1


@dataclass(frozen=True, repr=False)
class Schedule:
    """Say when elements are frozen and thawed. Immutable: `freeze` and `thaw` give a longer schedule.

    An entry acts once, with `step=` when so many steps are taken, with `epoch=` when so many epochs are over; or again and
    again, with `every_steps=` and `every_epochs=`; or on a condition on the logs, `when=`. What depends on the values of
    the weights is found when it acts.

    Example:
        >>> from freezecompat.elements import smallest, where
        >>> schedule = (
        ...     Schedule()
        ...     .thaw({"block2": "all"}, step=1000)
        ...     .freeze({"*/kernel": where("abs(w) < 1e-3")}, every_steps=500)
        ...     .freeze({"*/kernel": smallest(0.1)}, every_epochs=1, growing=True)
        ... )
        >>> schedule.thaw(when="val_loss < 0.1").entries[-1]
        .thaw(when='val_loss < 0.1')
        >>> Schedule.from_json(schedule.to_json()) == schedule
        True
    """

    entries: Tuple[Entry, ...] = ()

    def freeze(
        self,
        spec: Any,
        *,
        step: Optional[int] = None,
        every_steps: Optional[int] = None,
        epoch: Optional[int] = None,
        every_epochs: Optional[int] = None,
        when: Optional[str] = None,
        growing: bool = False,
    ) -> "Schedule":
        """Add elements to freeze.

        Args:
            spec: what `FreezeSpec` takes. What selects nothing when its time comes is no error.
            step: once, when so many steps are taken; 0: before the first.
            every_steps: each time that so many more steps are taken.
            epoch: once, when so many epochs are over, which is before the epoch that Keras numbers so from 0.
            every_epochs: each time that so many more epochs are over.
            when: a condition on the logs, such as "val_loss < 0.1 and accuracy > 0.9"; alone it is checked at the end of
                each epoch and acts once; with an `every_` it is checked then, and acts each time that it holds.
            growing: the k-th time, so much is added that k times the amount of `smallest`, `largest` or `random` is frozen.

        Returns:
            The longer schedule.

        Raises:
            FreezeCompatError: the spec can't be read, or the options do not go together.

        Example:
            >>> Schedule().freeze({"hidden/kernel": [(1, 2)]}, step=100)
            Schedule().freeze({'hidden/kernel': (1, 2)}, step=100)
        """
        return self._with(
            "freeze",
            spec,
            dict(step=step, every_steps=every_steps, epoch=epoch, every_epochs=every_epochs, when=when),
            growing,
        )

    def thaw(
        self,
        spec: Any = None,
        *,
        step: Optional[int] = None,
        every_steps: Optional[int] = None,
        epoch: Optional[int] = None,
        every_epochs: Optional[int] = None,
        when: Optional[str] = None,
    ) -> "Schedule":
        """Add elements to thaw.

        Args:
            spec: what `FreezeSpec` takes; None: all that is frozen.
            step, every_steps, epoch, every_epochs, when: as for `freeze`.

        Returns:
            The longer schedule.

        Raises:
            FreezeCompatError: as `freeze`.

        Example:
            >>> Schedule().thaw(epoch=3)
            Schedule().thaw(epoch=3)
        """
        options = dict(step=step, every_steps=every_steps, epoch=epoch, every_epochs=every_epochs, when=when)
        return self._with("thaw", spec, options, False)

    def thaw_in_turn(
        self, specs: Iterable[Any], *, every_steps: Optional[int] = None, every_epochs: Optional[int] = None
    ) -> "Schedule":
        """Thaw one after the other: layer by layer from the top, say.

        Args:
            specs: for each time the address of a layer or weight, of which all is thawed, or a spec.
            every_steps, every_epochs: one of them: how much later each is thawed than the one before it.

        Returns:
            The longer schedule, an entry for each.

        Raises:
            FreezeCompatError: as `freeze`.

        Example:
            >>> Schedule().thaw_in_turn(["out", "block2"], every_epochs=3)
            Schedule().thaw({'out': 'all'}, epoch=3).thaw({'block2': 'all'}, epoch=6)
        """
        if isinstance(specs, (str, bytes)):
            raise SpecTypeError("thaw_in_turn takes a list of addresses or specs, received {}".format(show(specs)))
        schedule = self
        for k, spec in enumerate(specs, 1):
            # Checked as they are given, so that an error names what the user wrote.
            found = entry("thaw", {spec: "all"} if isinstance(spec, str) else spec, _every(every_steps, every_epochs))
            period, counted = found.when_due.period or 0, "epoch" if found.when_due.in_epochs else "step"
            schedule = schedule._with("thaw", found.spec, {counted: k * period}, False)
        return schedule

    def _with(self, action: str, spec: Any, options: Dict[str, Any], growing: bool) -> "Schedule":
        with naming_entry(len(self.entries) + 1, None):
            return Schedule(self.entries + (entry(action, spec, options, growing),))

    def __add__(self, other: Any) -> "Schedule":
        return Schedule(self.entries + other.entries) if isinstance(other, Schedule) else NotImplemented

    def __repr__(self) -> str:
        return "Schedule()" + "".join(map(repr, self.entries))

    def on(
        self, frozen: Any, done: Optional[Dict[str, Any]] = None, *, from_here: bool = False, session: Any = None
    ) -> ScheduleRun:
        """Make the object that acts on a Frozen: a Keras callback, a SessionRunHook, and a call per step in a loop.

        What is due before the next step is done at once; in a TF1 graph without a session, when there is one.

        Args:
            frozen: what `freeze` or `restore` gave; that what is thawed is among what it owns.
            done: what `run.done` was when a checkpoint was saved. Default: what `frozen.save` has kept, if `frozen` comes
                from `restore`; else what is known from the optimizer's count of steps.
            from_here: count steps and epochs from here on, whatever the optimizer has counted before.
            session: in a TF1 graph, the session that trains; by default the default session.

        Returns:
            The `ScheduleRun`.

        Raises:
            SpecTypeError, SpecValueError: `done` is none, or that of another schedule.
            PastUnknown: something that depends on values or logs was due at a time of which nothing is kept.
            As `Frozen.freeze` and `thaw`.

        Example (with TensorFlow):
            >>> model.fit(x, y, callbacks=[schedule.on(frozen)])        # doctest: +SKIP
        """
        return ScheduleRun(self, frozen, done, from_here, session)

    @property
    def fingerprint(self) -> Optional[str]:
        """Short text that is the same for equal schedules; None where it can't be written to a file."""
        try:
            return hashlib.sha256(self.to_json().encode("utf-8")).hexdigest()
        except SpecTypeError:
            return None

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Schedule":
        """Read a schedule file; mask files that it names are relative to its folder.

        Args:
            path: the file; YAML if its name ends in .yaml or .yml, else JSON.

        Returns:
            The schedule.

        Raises:
            FileNotFoundError: there is no such file.
            MissingDependency: YAML, and PyYAML is not installed.
            FreezeCompatError: see `from_json`; the text names the file.
        """
        return read_file(path, cls._of_object)

    def dump(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the schedule to a file; a failure leaves what was there.

        Args:
            path: the file, replaced if it is there; YAML if its name ends in .yaml or .yml, else JSON.

        Raises:
            SpecTypeError: an address is a variable object, or elements are chosen by a function.
            MissingDependency: YAML, and PyYAML is not installed.
        """
        write_file(path, self.to_json())

    @classmethod
    def from_json(cls, text: str, folder: Optional[str] = None) -> "Schedule":
        """Read a schedule from JSON text.

        Args:
            text: `{"freezecompat_schedule": 1, "entries": [{"freeze": SPEC, "every_steps": 500}, ...]}`; SPEC is what
                stands under "freeze" in a spec file.
            folder: the folder that mask files are relative to.

        Returns:
            The schedule.

        Raises:
            SpecTypeError, SpecValueError, ElementIndexError: as `FreezeSpec.from_json`; the text names the entry.

        Example:
            >>> Schedule.from_json('{"freezecompat_schedule": 1, "entries": [{"thaw": "all", "step": 10}]}')
            Schedule().thaw(step=10)
        """
        return cls._of_object(read_json(text), folder)

    @classmethod
    def _of_object(cls, read: Any, folder: Optional[str]) -> "Schedule":
        check_keys(read, ("freezecompat_schedule", "entries"), "a schedule file")
        check_version(read["freezecompat_schedule"], _VERSION)
        entries = read["entries"]
        if not isinstance(entries, list):
            raise SpecValueError("'entries' is a list, received {}".format(show(entries)))
        found = []
        for number, one in enumerate(entries, 1):
            with naming_entry(number, None):
                found.append(read_entry(one, folder))
        return cls(tuple(found))

    def to_json(self) -> str:
        """Write the schedule as JSON text, the same text for the same schedule.

        Returns:
            The text, an entry a line.

        Raises:
            SpecTypeError: an address is a variable object, or elements are chosen by a function.

        Example:
            >>> print(Schedule().thaw({"block2": "all"}, step=1000).to_json(), end="")
            {
              "freezecompat_schedule": 1,
              "entries": [
                {"thaw": [{"weight": "block2", "elements": "all"}], "step": 1000}
              ]
            }
        """
        lines = []
        for number, one in enumerate(self.entries, 1):
            with naming_entry(number, None):
                lines.append("\n    " + json.dumps(one.to_plain(), allow_nan=False))
        entries = "[{}]".format(",".join(lines) + "\n  " if lines else "")
        return '{{\n  "freezecompat_schedule": {},\n  "entries": {}\n}}\n'.format(_VERSION, entries)


def _every(every_steps: Optional[int], every_epochs: Optional[int]) -> Dict[str, Any]:
    return {"every_steps": every_steps, "every_epochs": every_epochs}
