"""Keras 3's SwapEMAWeights, which swaps a model's weights with their moving averages while it is evaluated."""

import contextlib
import inspect
from typing import Any, Iterable, List

from .. import _compat
from .base import Hook, Holding
from .held import HeldWeight


class SwapHooks:
    """Lets the frozen elements show their held values while such a callback of a fit, evaluate or predict has swapped.

    It swaps by adding and subtracting, which alone would move elements, in both directions.
    """

    _RUNS = ("fit", "evaluate", "predict")

    def __init__(self, model: Any, weights: Iterable[HeldWeight]) -> None:
        self._weights = list(weights)
        runs = self._RUNS if _compat.is_keras3(model) else ()
        self._hooks: List[Hook] = [Hook(model, name, self._run) for name in runs]

    def uninstall(self) -> None:
        for hook in self._hooks:
            hook.uninstall()

    def _run(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind_partial(*args, **kwargs).arguments.get("callbacks")
        given = getattr(given, "callbacks", given)  # out of a CallbackList
        callbacks = given if isinstance(given, (list, tuple)) else [given]
        with contextlib.ExitStack() as stack:
            for callback in callbacks:
                if hasattr(callback, "_swap_variables"):
                    stack.callback(Hook(callback, "_swap_variables", self._swap).uninstall)
            return original(*args, **kwargs)

    def _swap(self, original: Any) -> None:
        with Holding(self._weights) as correct:
            correct(original())
