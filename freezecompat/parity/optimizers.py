"""An optimizer, named once, with the same mathematics under every API; or the reason why an API cannot have it.

How the optimizers of `tf.train` and of Keras differ, apart from rounding:

- SGD, with or without (Nesterov) momentum: the same. `tf.train` keeps the rate outside the velocity and Keras keeps it
  inside; that shows only when the rate changes, so that a rate here is one number.
- Adam: the same formula ("epsilon hat"). The default epsilon is 1e-8 in `tf.train` and 1e-7 in Keras; here it is 1e-7
  everywhere. 1 - beta is taken in float32 by the fused kernels and in Python's floats by Keras' newer classes.
- RMSprop and Adagrad: `tf.train` starts the accumulator at 1 (at 0.1) and its epsilon lies elsewhere.
"""

import numbers
from typing import Any, Callable, Dict, NamedTuple, Optional

from ..exceptions import ArgumentError


class Unavailable(Exception):
    """This interpreter cannot run an API, or not this experiment under it; the text says why."""


class _Optimizer(NamedTuple):
    keras: str
    defaults: Dict[str, Any] = {}
    train: Optional[Callable[[Any, Dict[str, Any]], Any]] = None
    only_keras: str = ""


def _sgd(train: Any, options: Dict[str, Any]) -> Any:
    if not options["momentum"]:
        return train.GradientDescentOptimizer(options["learning_rate"])
    return train.MomentumOptimizer(
        options["learning_rate"], momentum=options["momentum"], use_nesterov=options["nesterov"]
    )


def _adam(train: Any, options: Dict[str, Any]) -> Any:
    return train.AdamOptimizer(
        options["learning_rate"], beta1=options["beta_1"], beta2=options["beta_2"], epsilon=options["epsilon"]
    )


_ADAM = {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}

_OPTIMIZERS = {
    "sgd": _Optimizer("SGD", {"learning_rate": 0.01, "momentum": 0.0, "nesterov": False}, _sgd),
    "adam": _Optimizer("Adam", _ADAM, _adam),
    "adamw": _Optimizer("AdamW", _ADAM, only_keras="tf.train has no AdamW; contrib's decays at another moment"),
    "nadam": _Optimizer("Nadam", _ADAM, only_keras="tf.train has no Nadam"),
    "adamax": _Optimizer("Adamax", _ADAM, only_keras="tf.train has no Adamax"),
    "lion": _Optimizer("Lion", {}, only_keras="tf.train has no Lion"),
    "rmsprop": _Optimizer(
        "RMSprop",
        {"learning_rate": 0.001},
        only_keras="tf.train.RMSPropOptimizer starts its mean square at 1 and adds epsilon inside the root, Keras "
        "starts at 0 and, in most of its versions, adds epsilon outside",
    ),
    "adagrad": _Optimizer(
        "Adagrad",
        {"learning_rate": 0.001},
        only_keras="tf.train.AdagradOptimizer has no epsilon, Keras' Adagrad has one",
    ),
}


def check(optimizer: Dict[str, Any]) -> None:
    """Refuse what no API could build.

    Example:
        >>> check({"name": "adam", "learning_rate": 0.01})

    Raises:
        ArgumentError: the name is missing or unknown, or the rate is no number.
    """
    name = optimizer.get("name")
    if not isinstance(name, str) or name not in _OPTIMIZERS:
        raise ArgumentError(
            'OPTIMIZER["name"] is {!r}, it must be one of {}'.format(name, ", ".join(map(repr, sorted(_OPTIMIZERS))))
        )
    rate = optimizer.get("learning_rate", 0.0)
    if not isinstance(rate, numbers.Real) or isinstance(rate, bool):
        raise ArgumentError(
            'OPTIMIZER["learning_rate"] is {!r}, it must be one number: under a changing rate momentum means different '
            "things in tf.train and in Keras".format(rate)
        )


def train_optimizer(train: Any, optimizer: Dict[str, Any]) -> Any:
    """The optimizer of `tf.train`.

    Raises:
        Unavailable: it cannot do the same mathematics as Keras'.
    """
    known, options = _with_defaults(optimizer)
    if known.train is None:
        raise Unavailable("{} runs under Keras only: {}".format(optimizer["name"], known.only_keras))
    others = sorted(set(options) - set(known.defaults))
    if others:
        raise Unavailable("tf.train's {} has no {}".format(optimizer["name"], " and no ".join(others)))
    return known.train(train, options)


def keras_optimizer(keras: Any, optimizer: Dict[str, Any]) -> Any:
    """The optimizer of this Keras.

    Raises:
        Unavailable: it has no such optimizer, or not this option.
    """
    known, options = _with_defaults(optimizer)
    make = getattr(keras.optimizers, known.keras, None)
    if make is None:
        raise Unavailable("the keras.optimizers of this TensorFlow has no {}".format(known.keras))
    try:
        return make(**options)
    except (TypeError, ValueError) as error:
        raise Unavailable("keras.optimizers.{} refused {}: {}".format(known.keras, options, error)) from error


def _with_defaults(optimizer: Dict[str, Any]) -> Any:
    known = _OPTIMIZERS[optimizer["name"]]
    options = dict(known.defaults)
    options.update((key, value) for key, value in optimizer.items() if key != "name")
    return known, options
