"""The adapter for `tf.train` optimizers: real TF 1.x and tf.compat.v1, eager mode and graphs."""

import contextlib
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import _compat
from .base import Adapter, Pair
from .held import HeldWeight


class TrainOptimizer(Adapter):
    """Gradients are selected where compute_gradients hands them out, so that clipping in between is right, and those that
    come back changed again in apply_gradients; the correction hangs on `_finish`, whose op is what apply_gradients names,
    collects and returns.
    """

    _correct: Optional[Callable[..., Any]] = None
    _handed_out: Sequence[Tuple[Any, int]] = ()  # weak references to selected gradients, and which variable each is of

    def methods(self) -> Dict[str, Callable[..., Any]]:
        return {
            "compute_gradients": self._compute_gradients,
            "apply_gradients": self._apply_gradients,
            "_finish": self._finish,
        }

    def writes_pass(self, held: HeldWeight) -> bool:
        return False  # kernels of TensorFlow's own write the weights

    def _compute_gradients(self, original: Any, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        if var_list is not None:
            var_list = [_compat.backend_variable(v) for v in _compat.flatten(var_list)]
        pairs = original(loss, var_list, *args, **kwargs)
        if self.leaves_to_the_original(pairs):  # in eager mode, tensors may be differentiated by
            return pairs
        pairs = self.select(pairs)
        if _compat.tensorflow().executing_eagerly():
            self._handed_out = (
                []
            )  # another freeze may come before apply_gradients; what is built reads the mask when it runs
        else:
            found = [
                (gradient, _compat.backend_variable(variable)) for gradient, variable in pairs if gradient is not None
            ]
            self._handed_out = [(weakref.ref(gradient), id(variable)) for gradient, variable in found]
        return pairs

    def _apply_gradients(self, original: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = [(g, _compat.backend_variable(v)) for g, v in grads_and_vars]
        if self.leaves_to_the_original(pairs):
            return original(pairs, *args, **kwargs)
        with self._masks_of_the_step(pairs):
            pairs = self._select_what_changed(pairs)
            # What has no gradient is left alone: it may have no value yet, or be stepped by another optimizer just now.
            with self.holding([(g, v) for g, v in pairs if g is not None]) as correct:
                self._correct = correct
                result = original(pairs, *args, **kwargs)
                if self._correct is not None:  # a subclass with a step of its own that does not finish through _finish
                    return self._take_correct()(result)
        return result

    def _select_what_changed(self, pairs: List[Pair]) -> List[Pair]:
        selected = {(id(gradient()), variable) for gradient, variable in self._handed_out}
        return [pair if (id(pair[0]), id(pair[1])) in selected else self.select_for_step([pair])[0] for pair in pairs]

    def _masks_of_the_step(self, pairs: List[Pair]) -> Any:
        """Read masks when the step begins: a run that waits for its gradients began before the last freeze or thaw."""
        stack = contextlib.ExitStack()
        for gradient, variable in pairs:
            if _compat.has_static_shape(variable) and _compat.taken_from_queue(gradient):
                stack.enter_context(self._held(variable).mask_read_after(gradient))
        return stack

    def _finish(self, original: Any, update_ops: Any, name_scope: Optional[str] = None) -> Any:
        if self._correct is None:
            return original(update_ops, *(() if name_scope is None else (name_scope,)))
        if name_scope is None:  # contrib.optimizer_v2: given its state, with the updates as control dependencies
            return self._take_correct()(original(update_ops))
        done = original(update_ops, name_scope + "update" if name_scope.endswith("/") else "update_all")
        return self._take_correct()(done, name=name_scope)

    def _take_correct(self) -> Callable[..., Any]:
        correct, self._correct = self._correct, None
        assert correct is not None
        return correct
