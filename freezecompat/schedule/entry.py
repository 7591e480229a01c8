"""One entry of a schedule: what it freezes or thaws, and when."""

from typing import Any, Dict, Mapping, NamedTuple, Optional

from .._json_text import check_keys
from .._show import show
from ..element_set import ElementSet
from ..exceptions import SpecTypeError, SpecValueError
from ..spec import FreezeSpec
from .growing import check_grows, grown
from .trigger import FIELDS, Trigger, trigger

ACTIONS = ("freeze", "thaw")


class Entry(NamedTuple):
    """What is frozen or thawed, and when.

    Attributes:
        action: "freeze" or "thaw".
        spec: of which elements; None: of all that the Frozen owns.
        when_due: the trigger.
        growing: whether the k-th time freezes k times the amount.

    Example:
        >>> entry("freeze", {"kernel": "all"}, {"step": 10})
        .freeze({'kernel': 'all'}, step=10)
    """

    action: str
    spec: Optional[FreezeSpec]
    when_due: Trigger
    growing: bool = False

    @property
    def forgets(self) -> bool:
        """True where what it did in the past can't be found out later: it depends on values or logs that are gone."""
        if self.when_due.when is not None:
            return True
        return self.spec is not None and any(rule.elements.needs_values for rule in self.spec.every_rule())

    def spec_of(self, times: int, frozen: Mapping[str, ElementSet]) -> Optional[FreezeSpec]:
        """The spec of its k-th time, given what is frozen already."""
        return grown(self.spec, times, frozen) if self.growing and self.spec is not None else self.spec

    def to_plain(self) -> Dict[str, Any]:
        """What stands for it in a file.

        Raises:
            SpecTypeError: an address is a variable object, or elements are chosen by a function.
        """
        written: Dict[str, Any] = {self.action: "all" if self.spec is None else self.spec.to_part()}
        written.update(self.when_due.to_plain())
        if self.growing:
            written["growing"] = True
        return written

    def __repr__(self) -> str:
        options = repr(self.when_due) + (", growing=True" if self.growing else "")
        return ".{}({}{})".format(self.action, "" if self.spec is None else _text(self.spec) + ", ", options)


def entry(action: str, spec: Any, options: Dict[str, Any], growing: Any = False) -> Entry:
    """Make an entry of what a user gave.

    Args:
        action: "freeze" or "thaw".
        spec: what `FreezeSpec` takes; None, for "thaw": all.
        options: the fields of a `Trigger`.
        growing: whether the k-th time freezes k times the amount.

    Returns:
        The entry.

    Raises:
        FreezeCompatError: the spec, the trigger, or both together make no sense.
    """
    when_due = trigger(options)
    if not isinstance(growing, bool):
        raise SpecTypeError("growing is True or False, received {}".format(show(growing)))
    if spec is None and action == "freeze":
        raise SpecTypeError("freeze needs a spec, {address: elements}")
    found = None if spec is None else FreezeSpec(spec)
    if found is not None and found.operation is None and not found.rules:
        raise SpecValueError("an entry with FreezeSpec.empty() would never do anything; leave it away")
    if growing:
        if action != "freeze" or when_due.period is None or found is None:
            raise SpecValueError("growing=True is for freeze with every_steps= or every_epochs=")
        check_grows(found)
    return Entry(action, found, when_due, growing)


def read_entry(read: Any, folder: Optional[str]) -> Entry:
    """Turn what a schedule file has into an entry.

    Args:
        read: what JSON gave.
        folder: the folder that mask files are relative to.

    Returns:
        The entry.

    Raises:
        FreezeCompatError: it is none.

    Example:
        >>> read_entry({"thaw": "all", "epoch": 3}, None)
        .thaw(epoch=3)
    """
    action = "thaw" if isinstance(read, dict) and "thaw" in read else "freeze"
    check_keys(read, (action,), "an entry with {}".format(action), FIELDS + ("growing",))
    everything = action == "thaw" and read[action] == "all"
    spec = None if everything else FreezeSpec.from_part(read[action], folder)
    return entry(action, spec, {name: read.get(name) for name in FIELDS}, read.get("growing", False))


def _text(spec: FreezeSpec) -> str:
    text = repr(spec)
    return text[len("FreezeSpec(") : -1] if spec.operation is None else text
