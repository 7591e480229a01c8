"""Keras 3's SwapEMAWeights, which swaps a model's weights with their moving averages while it is evaluated."""

import contextlib
import inspect
from typing import Any, Iterator, List, Mapping, Sequence

from .base import Hook, Holding
from .held import HeldWeight


def callbacks_given(run: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> List[Any]:
    """The callbacks among the arguments of a model's `fit`, `evaluate` or `predict`."""
    given = inspect.signature(run).bind_partial(*args, **kwargs).arguments.get("callbacks")
    given = getattr(given, "callbacks", given)  # out of a CallbackList
    return list(given) if isinstance(given, (list, tuple)) else [given]


@contextlib.contextmanager
def held_in_swaps(callbacks: Sequence[Any], weights: List[HeldWeight]) -> Iterator[None]:
    """Let the frozen elements show their held values while such a callback has swapped in this context.

    It swaps by adding and subtracting, which alone would move elements, in both directions.
    """

    def swap(original: Any) -> None:
        with Holding(weights) as correct:
            correct(original())

    with contextlib.ExitStack() as stack:
        for callback in callbacks:
            if hasattr(callback, "_swap_variables"):
                stack.callback(Hook(callback, "_swap_variables", swap).uninstall)
        yield
