"""Losses by name, each written out as a scalar, so that every API computes the same operations in the same order.

A loss of Keras or of `tf.losses` would bring a reduction of its own: SUM_BY_NONZERO_WEIGHTS in TF1, a mean per row and
then one over rows in Keras.
"""

from typing import Any, Callable, Dict, Union

# Keras' own fuzz, which keeps a logarithm finite.
_EPSILON = 1e-7


def _mse(tf: Any, y: Any, prediction: Any) -> Any:
    return tf.reduce_mean(tf.square(prediction - y))


def _mae(tf: Any, y: Any, prediction: Any) -> Any:
    return tf.reduce_mean(tf.abs(prediction - y))


def _binary_crossentropy(tf: Any, y: Any, prediction: Any) -> Any:
    p = tf.clip_by_value(prediction, _EPSILON, 1.0 - _EPSILON)
    return -tf.reduce_mean(y * tf.math.log(p) + (1.0 - y) * tf.math.log(1.0 - p))


def _categorical_crossentropy(tf: Any, y: Any, prediction: Any) -> Any:
    p = tf.clip_by_value(prediction, _EPSILON, 1.0 - _EPSILON)
    return -tf.reduce_mean(tf.reduce_sum(y * tf.math.log(p), -1))


LOSSES: Dict[str, Callable[[Any, Any, Any], Any]] = {
    "mse": _mse,
    "mae": _mae,
    "binary_crossentropy": _binary_crossentropy,
    "categorical_crossentropy": _categorical_crossentropy,
}


def loss_function(tf: Any, loss: Union[str, Callable[[Any, Any, Any], Any]]) -> Callable[[Any, Any], Any]:
    """A function of y and the prediction, y cast to the prediction's dtype."""
    function = LOSSES[loss] if isinstance(loss, str) else loss

    def explicit(y: Any, prediction: Any) -> Any:
        cast = isinstance(loss, str)
        return function(tf, tf.cast(y, prediction.dtype) if cast else y, prediction)

    return explicit
