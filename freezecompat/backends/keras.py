"""The adapters for Keras optimizers, and how a `Frozen` follows the optimizer that a model is compiled with."""

from typing import Any, Callable, Dict, Iterable, List

from .. import _compat
from .base import Adapter, Hook
from .held import HeldWeight
from .statistics import StatisticsHold
from .swaps import callbacks_given, held_in_swaps


class KerasOptimizer(Adapter):
    """tf.keras 2 and tf-keras, the OptimizerV2 classes and those since 2.11: each step passes through apply_gradients.

    The oldest clip before that, where they differentiate: there the gradients are selected first.
    """

    def methods(self) -> Dict[str, Callable[..., Any]]:
        methods = {"apply_gradients": self._apply_gradients}
        if hasattr(self.optimizer, "finalize_variable_values"):
            methods["finalize_variable_values"] = self._finalize
        if _compat.clips_where_it_differentiates(self.optimizer):
            methods.update(get_gradients=self._get_gradients, _compute_gradients=self._compute_gradients)
        return methods

    def _get_gradients(self, original: Any, loss: Any, params: Any) -> Any:
        params = _compat.flatten(params)
        with _compat.clipping_taken_out(self.optimizer) as clip:
            gradients = original(loss, params)
        return clip([gradient for gradient, _ in self.select(list(zip(gradients, params)))])

    def _compute_gradients(self, original: Any, loss: Any, var_list: Any, *args: Any, **kwargs: Any) -> Any:
        with _compat.clipping_taken_out(self.optimizer) as clip:
            pairs = self.select(original(loss, var_list, *args, **kwargs))
        return list(zip(clip([gradient for gradient, _ in pairs]), [variable for _, variable in pairs]))

    def _apply_gradients(self, original: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = list(grads_and_vars)
        if self.leaves_to_the_original(pairs):
            return original(pairs, *args, **kwargs)
        return self.step(pairs, lambda pairs: original(pairs, *args, **kwargs))

    def _finalize(self, original: Any, var_list: Any) -> Any:
        # After the last step the weights are overwritten with their moving average.
        var_list = list(var_list)
        with self.holding([(None, variable) for variable in var_list], counted=False) as correct:
            return correct(original(var_list))

    def known_variables(self) -> Iterable[Any]:
        return getattr(self.optimizer, "_trainable_variables", ())


class Keras3Optimizer(KerasOptimizer):
    """Keras 3: every path, apply_gradients included, reaches `apply`."""

    def methods(self) -> Dict[str, Callable[..., Any]]:
        return {"apply": self._apply, "finalize_variable_values": self._finalize}

    def _apply(self, original: Any, grads: Any, trainable_variables: Any = None) -> Any:
        grads = list(grads)
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
        variables = self.optimizer._trainable_variables if trainable_variables is None else trainable_variables
        pairs = list(zip(grads, variables))
        if len(grads) != len(variables) or self.leaves_to_the_original(pairs):
            return original(grads, trainable_variables)  # it raises, in Keras' words
        return self.step(
            pairs,
            lambda pairs: original([gradient for gradient, _ in pairs], trainable_variables),
        )


class ModelHooks:
    """The hooks on a model, for all `Frozen`s that follow it: it has one of these, which goes with the last of them.

    The followers are called after each compile, and before each fit and train_on_batch; what they raise comes through. What a
    run of the model, and its train step, write besides the optimizer is held there (`swaps.py`, `statistics.py`).
    """

    _BEFORE = ("fit", "fit_generator", "train_on_batch")
    _SWAPS = ("fit", "evaluate", "predict")

    def __init__(self, model: Any) -> None:
        self._model = model
        self._followers: Dict[Any, Callable[[], None]] = {}
        self._weights: Dict[Any, List[HeldWeight]] = {}
        self._statistics = StatisticsHold(model)
        runs = self._SWAPS if _compat.is_keras3(model) else ()
        self._hooks: List[Hook] = [Hook(model, name, self._run) for name in runs]
        self._hooks += [Hook(model, "compile", self._after)]
        self._hooks += [Hook(model, name, self._before) for name in self._BEFORE if hasattr(model, name)]

    def add(self, owner: Any, follow: Callable[[], None], weights: Iterable[HeldWeight]) -> None:
        self._followers[owner] = follow
        self._weights[owner] = list(weights)

    def remove(self, owner: Any) -> None:
        del self._followers[owner], self._weights[owner]
        if not self._followers:
            self._statistics.uninstall()
            for hook in reversed(self._hooks):
                hook.uninstall()

    def hold_statistics(self, weights: Iterable[HeldWeight]) -> None:
        self._statistics.add(weights)

    def _after(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        self._follow()
        return result

    def _before(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self._follow()
        return original(*args, **kwargs)

    def _follow(self) -> None:
        for follow in list(self._followers.values()):
            follow()

    def _run(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        weights = {id(held): held for followed in self._weights.values() for held in followed}
        with held_in_swaps(callbacks_given(original, args, kwargs), list(weights.values())):
            return original(*args, **kwargs)
