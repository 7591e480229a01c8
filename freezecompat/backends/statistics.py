"""The moving statistics of BatchNormalization, which the forward pass of a Keras model's own train step writes."""

from typing import Any, Iterable, List, Optional, Tuple

from .. import _compat
from .base import Hook
from .held import HeldWeight


class TrainStepHook(Hook):
    """Puts held values back after a train step.

    The step itself is called from here, and not from an `around`: autograph goes on to rewrite it, and its layers.
    """

    def __init__(self, model: Any, weights: List[HeldWeight]) -> None:
        super().__init__(model, "train_step", self._put_back)
        self._weights = weights
        self._begin = _compat.without_autograph(self._snapshots)
        self._end = _compat.without_autograph(self._put_back)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.around is None:
            return self.original(*args, **kwargs)
        before = self._begin()
        result = self.original(*args, **kwargs)
        self._end(before)
        return result

    def _snapshots(self) -> List[Tuple[HeldWeight, Any]]:
        eager = _compat.tensorflow().executing_eagerly()
        return [(held, held.snapshot()) for held in self._weights if held.frozen or not eager]

    def _put_back(self, snapshots: List[Tuple[HeldWeight, Any]]) -> None:
        for held, snapshot in snapshots:
            held.put_back(snapshot)


class StatisticsHold:
    """Holds such statistics of one model from the first time that some of them are frozen."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._weights: List[HeldWeight] = []
        self._hook: Optional[TrainStepHook] = None

    def add(self, weights: Iterable[HeldWeight]) -> None:
        new = [held for held in weights if held not in self._weights]
        if not new:
            return
        self._weights += new
        if self._hook is None:
            self._hook = TrainStepHook(self._model, self._weights)
        _compat.forget_train_step(self._model)

    def uninstall(self) -> None:
        if self._hook is not None:
            self._hook.uninstall()
