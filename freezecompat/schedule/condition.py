"""A condition on the logs of a training, read by the same allow-list as a predicate over the elements of a weight."""

from typing import Any, Callable, Mapping, Set, Tuple

import numpy as np

from .._show import show
from ..elements.predicate import Reader
from ..exceptions import ArgumentError, SpecTypeError, SpecValueError


class Condition:
    """An expression over the names in logs, such as `val_loss < 0.1 and accuracy > 0.9`.

    Example:
        >>> condition = Condition("val_loss < 0.1 and accuracy > 0.9")
        >>> sorted(condition.names)
        ['accuracy', 'val_loss']
        >>> condition.holds({"val_loss": 0.05, "accuracy": 0.95, "loss": 0.2})
        True
        >>> condition.missing({"loss": 0.2})
        ('accuracy', 'val_loss')
    """

    def __init__(self, text: str) -> None:
        """Read an expression.

        Args:
            text: the expression.

        Raises:
            SpecTypeError: no text.
            SpecValueError: no comparison of arithmetic over names.
        """
        if not isinstance(text, str):
            raise SpecTypeError("when= is text such as 'val_loss < 0.1', received {}".format(show(text)))
        reader = _LogReader(text)
        self._evaluate = reader.read()
        self.names = reader.names
        if not self.names:
            raise reader.error("it names nothing of the logs")

    def missing(self, logs: Mapping[str, Any]) -> Tuple[str, ...]:
        """The names that the logs lack."""
        return tuple(sorted(name for name in self.names if logs.get(name) is None))

    def holds(self, logs: Mapping[str, Any]) -> bool:
        """Say whether it is true of these logs; NaN compares false.

        Raises:
            ArgumentError: what the logs have under a name is no number.
        """
        values = {name: _number(name, logs[name]) for name in self.names}
        with np.errstate(all="ignore"):
            return bool(self._evaluate(values))


class _LogReader(Reader):
    """The names stand for numbers of Python, taken out of the logs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names: Set[str] = set()

    def variable(self, name: str) -> Callable[[Any], Any]:
        self.names.add(name)
        return lambda values: values[name]

    def error(self, reason: str) -> SpecValueError:
        return SpecValueError(
            "when={} is no condition: {}; it compares arithmetic over names in the logs, such as 'val_loss < 0.1 and "
            "accuracy > 0.9'".format(show(self._text), reason)
        )


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError("logs[{!r}] is a number, received {}".format(name, show(value))) from None
