"""What Keras asks of a callback, in every generation: no list of callbacks asks for its class."""

from typing import Any, Mapping, Optional

Logs = Optional[Mapping[str, Any]]


class KerasCallback:
    """Tells `_at_epoch_begin`, `_after_steps` and `_after_epoch` of a training; all else that Keras calls does nothing.

    With `steps_per_execution` above 1 Keras calls once for several steps.
    """

    model: Any = None
    params: Any = None
    _last_batch = -1

    def set_model(self, model: Any) -> None:
        """Called by Keras."""
        self.model = model

    def set_params(self, params: Any) -> None:
        """Called by Keras."""
        self.params = params

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Called by Keras, after each on_train_begin: weights that a callback restores are there."""
        self._last_batch = -1
        self._at_epoch_begin(int(epoch))

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called by Keras; an epoch that goes on in its middle does not begin with batch 0."""
        if self._last_batch < 0:
            self._last_batch = int(batch) - 1

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called by Keras."""
        passed, self._last_batch = int(batch) - self._last_batch, int(batch)
        self._after_steps(passed, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Called by Keras."""
        self._after_epoch(logs)

    def _at_epoch_begin(self, epoch: int) -> None:
        raise NotImplementedError

    def _after_steps(self, passed: int, logs: Logs) -> None:
        raise NotImplementedError

    def _after_epoch(self, logs: Logs) -> None:
        raise NotImplementedError

    def _implements_train_batch_hooks(self) -> bool:
        return True

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Called by Keras; nothing is to be done."""

    on_train_begin = on_train_end = on_batch_begin = on_batch_end = _nothing
    on_test_begin = on_test_end = on_test_batch_begin = on_test_batch_end = _nothing
    on_predict_begin = on_predict_end = on_predict_batch_begin = on_predict_batch_end = _nothing
