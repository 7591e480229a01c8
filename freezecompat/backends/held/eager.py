"""A weight of eager mode."""

from typing import Any

import numpy as np

from ... import _compat
from ...element_set import ElementSet
from .base import HeldWeight


class EagerWeight(HeldWeight):
    """A weight of eager mode: its mask is a variable that traced functions read, so that a change reaches them at once."""

    _mask: Any = None

    def mask(self, rows: Any = None) -> Any:
        tf = _compat.tensorflow()
        if self._mask is None:
            with tf.init_scope():
                self._mask = tf.Variable(self.frozen.dense(), trainable=False, dtype=tf.bool)
        return self._mask.read_value() if rows is None else tf.gather(self._mask, rows)

    def read(self, session: Any = None) -> np.ndarray:
        with _compat.init_scope():
            return self.variable.numpy()

    def write(self, value: np.ndarray, session: Any = None) -> None:
        with _compat.init_scope():
            self.variable.assign(value)

    def bring(self, session: Any = None) -> ElementSet:
        changed, self._changes = self._changed_since(0), []
        if changed:
            with _compat.init_scope():
                if self._mask is not None:
                    self._mask.assign(self.frozen.dense())
                self._reset_slots(changed)
        return changed
