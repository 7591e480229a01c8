"""The TensorFlow 1 API, wherever it is: real TensorFlow 1.x where that is installed, else `tensorflow.compat.v1`.

One changed import lets a TF1 script run from TensorFlow 1.13 to the newest:

    from freezecompat import tf1 as tf

    tf.enable_eager_execution()             # or, for a graph and a Session: tf.disable_eager_execution()
    optimizer = tf.train.GradientDescentOptimizer(0.01)

Every name is the very object of the module behind it. Nothing is switched, set or patched: neither eager execution
nor an environment variable. TensorFlow is imported when the first name is looked up, not before.

What a TensorFlow 2 no longer has raises AttributeError with what to use instead: `contrib`, `estimator`, and, where
`tf.keras` is Keras 3, everything in `layers` and `nn.rnn_cell`.
"""

# Each import has an underscore: a name without one would hide TensorFlow's own (`tf.types`, for one).
import functools as _functools
import sys as _sys
import types as _types
from typing import Any as _Any
from typing import Dict as _Dict
from typing import List as _List

from .exceptions import MissingDependency as _MissingDependency

# TensorFlow's own names that look like Python's protocol names; no other dunder imports anything.
_TENSORFLOW_DUNDERS = frozenset(
    (
        "__version__",
        "__git_version__",
        "__compiler_version__",
        "__cxx11_abi_flag__",
        "__cxx_version__",
        "__monolithic_build__",
    )
)

_LEGACY_KERAS = (
    "or `pip install tf-keras` and set the environment variable TF_USE_LEGACY_KERAS=1 before TensorFlow is imported"
)

_GONE = {
    "contrib": (
        "tf.contrib ended with TensorFlow 1.15. Use what took its place: tf.keras.layers for contrib.layers, "
        "tf.keras.optimizers.AdamW for contrib.opt.AdamWOptimizer, tf.keras.layers.LSTM and GRU for contrib.rnn, "
        "tf.data for contrib.data, the tf-slim package for contrib.slim"
    ),
    "estimator": (
        "tf.estimator ended with TensorFlow 2.15. Use a tf.keras model and fit(), or tf.train.MonitoredTrainingSession "
        "with your model_fn's train_op"
    ),
    "pywrap_tensorflow": (
        "tf.pywrap_tensorflow ended with TensorFlow 1.15. Use tf.train.load_checkpoint (or NewCheckpointReader) to "
        "read a checkpoint"
    ),
}

_KERAS_OF_LAYERS = {
    "average_pooling1d": "AveragePooling1D",
    "average_pooling2d": "AveragePooling2D",
    "average_pooling3d": "AveragePooling3D",
    "batch_normalization": "BatchNormalization",
    "conv1d": "Conv1D",
    "conv2d": "Conv2D",
    "conv2d_transpose": "Conv2DTranspose",
    "conv3d": "Conv3D",
    "conv3d_transpose": "Conv3DTranspose",
    "dense": "Dense",
    "dropout": "Dropout",
    "flatten": "Flatten",
    "max_pooling1d": "MaxPooling1D",
    "max_pooling2d": "MaxPooling2D",
    "max_pooling3d": "MaxPooling3D",
    "separable_conv1d": "SeparableConv1D",
    "separable_conv2d": "SeparableConv2D",
}
_KERAS_OF_LAYERS.update({name: name for name in _KERAS_OF_LAYERS.values()})
_KERAS_OF_LAYERS.update(InputSpec="InputSpec", Layer="Layer")

_KERAS_OF_CELLS = {
    "BasicLSTMCell": "LSTMCell",
    "LSTMCell": "LSTMCell",
    "GRUCell": "GRUCell",
    "BasicRNNCell": "SimpleRNNCell",
    "MultiRNNCell": "StackedRNNCells",
    "RNNCell": "Layer",
    "LSTMStateTuple": "LSTMCell (its state is a list)",
    "DropoutWrapper": "LSTMCell(dropout=...)",
    "DeviceWrapper": "LSTMCell (under tf.device)",
    "ResidualWrapper": "add",
}


class _Replaced(_types.ModuleType):
    """A module of `tf.compat.v1` whose missing names say what to use instead; every other look-up is forwarded."""

    def __init__(self, name: str, real: _Any, instead: _Dict[str, str], inner: _Dict[str, _Any]) -> None:
        super().__init__(name, "See `freezecompat.tf1`.")
        self.__dict__["_freezecompat"] = (real, instead, inner)

    def __getattr__(self, name: str) -> _Any:
        if name.startswith("__"):
            raise AttributeError("module {!r} has no attribute {!r}".format(self.__name__, name))
        real, instead, inner = self.__dict__["_freezecompat"]
        if name in inner:
            return inner[name]
        try:
            return getattr(real, name)
        except AttributeError:
            if name not in instead:
                raise AttributeError("module {!r} has no attribute {!r}".format(self.__name__, name)) from None
        raise AttributeError(
            "{}.{} needs Keras 2, and the Keras of this TensorFlow is 3. Use tf.keras.layers.{}, {}.".format(
                self.__name__, name, instead[name], _LEGACY_KERAS
            )
        )

    def __setattr__(self, name: str, value: _Any) -> None:
        setattr(self.__dict__["_freezecompat"][0], name, value)

    def __dir__(self) -> _List[str]:
        real, _, inner = self.__dict__["_freezecompat"]
        try:
            names = dir(real)
        except ImportError:  # dir() of TensorFlow's lazy loader of Keras 2 names, under Keras 3
            names = []
        return sorted(set(names).union(inner))


def _tensorflow() -> _Any:
    """The module behind this one."""
    try:
        import tensorflow
    except ImportError as error:
        if getattr(error, "name", None) != "tensorflow":
            raise  # installed, but it does not import: that error says why
        raise _MissingDependency(
            'freezecompat.tf1 needs TensorFlow, and none is installed: pip install "freezecompat[tensorflow]"'
        ) from None
    # Real TensorFlow 1 has compat.v1 too, but without contrib: the top-level module is the whole of it there.
    return tensorflow if _is_tf1(tensorflow) else tensorflow.compat.v1


def _is_tf1(tensorflow: _Any) -> bool:
    return hasattr(tensorflow, "Session")


def _has(module: _Any, name: str) -> bool:
    try:
        return hasattr(module, name)
    except ImportError:  # no Keras at all: forwarded as it is, so that TensorFlow's own error is seen
        return True


@_functools.lru_cache(maxsize=None)  # so that tf.nn is tf.nn
def _layers(real: _Any) -> _Any:
    """`tf.layers`, or where Keras 3 emptied it a stand-in whose errors help."""
    return real if _has(real, "Dense") else _Replaced("tf.layers", real, _KERAS_OF_LAYERS, {})


@_functools.lru_cache(maxsize=None)
def _nn(real: _Any) -> _Any:
    """`tf.nn`, or where Keras 3 emptied its `rnn_cell` a stand-in for both."""
    if _has(real.rnn_cell, "LSTMCell"):
        return real
    return _Replaced("tf.nn", real, {}, {"rnn_cell": _Replaced("tf.nn.rnn_cell", real.rnn_cell, _KERAS_OF_CELLS, {})})


_CHECKED = {"layers": _layers, "nn": _nn}


def __getattr__(name: str) -> _Any:
    # Python asks a module for __path__, __wrapped__ and the like, tools for _repr_html_ and for marks of their own:
    # that must not import TensorFlow.
    of_a_tool = name.startswith("__") or "tensorflow" not in _sys.modules
    if name.startswith("_") and name not in _TENSORFLOW_DUNDERS and of_a_tool:
        raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))
    module = _tensorflow()
    is_whole = _is_tf1(_sys.modules["tensorflow"])
    try:
        value = getattr(module, name)
    except AttributeError:
        if name in _GONE:
            raise AttributeError("{} (TensorFlow here: {}).".format(_GONE[name], module.__version__)) from None
        raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name)) from None
    return value if is_whole or name not in _CHECKED else _CHECKED[name](value)


def __dir__() -> _List[str]:
    own = [name for name in globals() if name.startswith("__")]
    return sorted(set(dir(_tensorflow())).union(own))
