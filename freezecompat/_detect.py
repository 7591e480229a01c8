"""From an object to the backend that serves it, by what is in `sys.modules`; nothing is imported to find out.

Whoever holds a TensorFlow object has imported TensorFlow. The rules, in order:

1. TensorFlow is not imported: nothing is known, every field is None.
2. A `tf.train` optimizer, or a variable or layer under a real TF 1.x: the tf1 adapter.
3. Any other Keras object: the keras adapter.
4. No object: tf1 in a real TF 1.x and wherever graph mode is on, else keras.

The Keras is that of the object; without one, the Keras that is imported: the newest generation first.
"""

import sys
from typing import Any, NamedTuple, Optional

from . import _compat


class Backend(NamedTuple):
    """What `detect_backend` found; every field is None where TensorFlow is not imported."""

    tensorflow: Optional[str]
    keras: Optional[str]
    mode: Optional[str]
    adapter: Optional[str]


def detect(obj: Any = None) -> Backend:
    tf = sys.modules.get("tensorflow")
    if tf is None or not hasattr(tf, "__version__"):
        return Backend(None, None, None, None)
    eager = tf.executing_eagerly() if hasattr(tf, "executing_eagerly") else False
    return Backend(tf.__version__, _compat.keras_description(obj), "eager" if eager else "graph", _adapter(obj, eager))


def _adapter(obj: Any, eager: bool) -> str:
    kind = _compat.optimizer_kind(obj)
    if kind is not None:
        return "tf1" if kind == "v1" else "keras"
    if obj is not None and _compat.keras_kind(obj):
        return "keras"
    return "keras" if eager and not _compat.is_tf1() else "tf1"
