"""The adapters for Keras optimizers, and how a `Frozen` follows the optimizer that a model is compiled with."""

from typing import Any, Callable, Dict, Iterable, List

from .. import _compat
from .base import Adapter, Hook


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
    """Calls the followers of a model after each compile, and before each fit and train_on_batch; what they raise comes through.

    A model has one of these, which goes with its last follower.
    """

    _BEFORE = ("fit", "fit_generator", "train_on_batch")

    def __init__(self, model: Any) -> None:
        self._followers: List[Callable[[], None]] = []
        self._hooks: List[Hook] = [Hook(model, "compile", self._after)]
        self._hooks += [Hook(model, name, self._before) for name in self._BEFORE if hasattr(model, name)]

    def _after(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        self._follow()
        return result

    def _before(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self._follow()
        return original(*args, **kwargs)

    def _follow(self) -> None:
        for follow in list(self._followers):
            follow()

    def add(self, follower: Callable[[], None]) -> None:
        self._followers.append(follower)

    def remove(self, follower: Callable[[], None]) -> None:
        self._followers.remove(follower)
        if not self._followers:
            for hook in self._hooks:
                hook.uninstall()
