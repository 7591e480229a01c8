"""When an entry of a schedule acts: once or again and again, counted in steps or epochs, or on a condition."""

from typing import Any, Dict, NamedTuple, Optional

import numpy as np

from .._show import show
from ..exceptions import SpecTypeError, SpecValueError
from .condition import Condition

FIELDS = ("step", "every_steps", "epoch", "every_epochs", "when")


class Trigger(NamedTuple):
    """When an entry acts. One of the four counts, or a condition, or a condition that is checked every so often.

    Attributes:
        step: acts once, when so many steps are taken.
        every_steps: acts each time that so many more steps are taken.
        epoch: acts once, when so many epochs are over: before the epoch that Keras numbers so, from 0.
        every_epochs: acts each time that so many more epochs are over.
        when: condition on the logs; alone it acts once, with one of the `every_` at each check at which it holds.

    Example:
        >>> Trigger(every_steps=500)
        every_steps=500
    """

    step: Optional[int] = None
    every_steps: Optional[int] = None
    epoch: Optional[int] = None
    every_epochs: Optional[int] = None
    when: Optional[str] = None

    @property
    def in_epochs(self) -> bool:
        """True where epochs are counted, False where steps are."""
        return self.epoch is not None or self.every_epochs is not None

    @property
    def period(self) -> Optional[int]:
        """So many steps or epochs from one time to the next; None where it acts once."""
        return self.every_epochs if self.every_steps is None else self.every_steps

    def times(self, taken: int) -> int:
        """How often it has been due when so many steps, or epochs, are taken; of a condition: how often it was checked.

        Example:
            >>> Trigger(every_steps=500).times(1200), Trigger(step=500).times(1200), Trigger(step=500).times(499)
            (2, 1, 0)
        """
        if self.period is not None:
            return taken // self.period
        once = self.epoch if self.in_epochs else self.step
        return 0 if once is None else int(taken >= once)

    def latest(self, taken: int) -> int:
        """The count at which it was due for the last time.

        Example:
            >>> Trigger(every_steps=500).latest(1200)
            1000
        """
        if self.period is not None:
            return taken // self.period * self.period
        return (self.epoch if self.in_epochs else self.step) or 0

    def to_plain(self) -> Dict[str, Any]:
        """What is set, for a file."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def __repr__(self) -> str:
        return ", ".join("{}={!r}".format(name, value) for name, value in self.to_plain().items())


def trigger(options: Dict[str, Any]) -> Trigger:
    """Make a trigger of what a user gave.

    Args:
        options: the fields of a `Trigger`; None is not given.

    Returns:
        The trigger.

    Raises:
        SpecTypeError: a count that is no int, a condition that is no text.
        SpecValueError: a count that is too small, fields that don't go together, none at all, or no condition.

    Example:
        >>> trigger({"epoch": 3, "step": None})
        epoch=3
        >>> trigger({"epoch": 3, "step": 100})
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: an entry has one of step=, every_steps=, epoch=, every_epochs= and when=, \
or when= with one of the every_; received step=100, epoch=3
    """
    found = Trigger(**{name: _checked(name, value) for name, value in options.items() if value is not None})
    given = found.to_plain()
    if len(given) != 1 and not (len(given) == 2 and found.when is not None and found.period is not None):
        raise SpecValueError(
            "an entry has one of step=, every_steps=, epoch=, every_epochs= and when=, or when= with one of the every_; "
            "received {}".format(found if given else "none")
        )
    return found


def _checked(name: str, value: Any) -> Any:
    if name == "when":
        Condition(value)
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise SpecTypeError("{}= is an int, received {}".format(name, show(value)))
    least = 1 if name.startswith("every_") else 0
    if not least <= int(value) < 2**63:
        raise SpecValueError("{}= is an int from {} on, received {}".format(name, least, show(int(value))))
    return int(value)
