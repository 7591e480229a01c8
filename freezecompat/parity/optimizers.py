"""An optimizer, named once, with the same mathematics under every API; or the reason why an API cannot have it.

How the optimizers of `tf.train` and of Keras differ, apart from rounding; docs/parity.md has it for users:

- Defaults: every one is set here, so that it is the same number everywhere.
- SGD, with or without (Nesterov) momentum: the same. `tf.train` keeps the rate outside the velocity and Keras keeps it
  inside; that shows only when the rate changes, so that a rate here is one number.
- Adam, Adadelta, Ftrl: the same formula ("epsilon hat" for Adam).
- 1 - beta is taken in float32 by the fused kernels and in Python's floats by the Keras classes since 2.11: 1.3e-5 apart
  for 0.999. So each number is rounded to float32 first; then the difference is the same in both.
- Adagrad, RMSprop: epsilon is absent in `tf.train`'s Adagrad, outside of the root up to Keras 2.10, and inside it since.
  Unless it is given it is `_NO_EPSILON` here, which leaves the root of any accumulator that matters as it is.
- RMSprop: `tf.train` starts the mean square at 1, Keras at 0, and neither can be told.
- Clipping: up to Keras 2.10 it takes place in `minimize` or in `fit`, or before any hook.
"""

import numbers
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np

from .. import _compat
from ..exceptions import ArgumentError


class Unavailable(Exception):
    """This interpreter cannot run an API, or not this experiment under it; the text says why."""


def _float32(value: float) -> float:
    return float(np.float32(value))


# Above 0, since Keras 2 reads 0 as "the default".
_NO_EPSILON = _float32(1e-30)

#: Options that only the Keras classes since 2.11 have, or have with one meaning.
_SINCE_KERAS_2_11 = {
    "weight_decay": "the optimizers of this Keras have no weight_decay",
    "clipnorm": "this Keras clips in minimize() or fit() only, or before any hook",
    "clipvalue": "this Keras clips in minimize() or fit() only, or before any hook",
    "global_clipnorm": "this Keras clips in minimize() or fit() only, or before any hook",
}

_EPSILON_OUTSIDE = "this Keras adds epsilon outside of the root, later ones add it inside"

#: Options that mean different things wherever they exist.
_REFUSED = {
    "decay": "it changes the rate, and under a changing rate momentum means different things in tf.train and in Keras",
    "use_ema": "the average starts at the weight in Keras 2 and at 0 in Keras 3",
    "ema_momentum": "the average starts at the weight in Keras 2 and at 0 in Keras 3",
    "ema_overwrite_frequency": "the average starts at the weight in Keras 2 and at 0 in Keras 3",
    "centered": "the root is taken of a difference that may be negative by rounding alone",
    "lr": "the name is learning_rate",
}


_REFUSED_NAMES = {
    "nadam": "its momentum schedule is another one up to Keras 2.10, in Keras 2.11 to 2.15, and in Keras 3",
}


class _Optimizer(NamedTuple):
    """One optimizer.

    Attributes:
        keras: its class in Keras.
        defaults: its options.
        train: makes the one of `tf.train`.
        only_keras: why there is none.
        more: options that have no default here, and `tf.train` has not.
        epsilon_moved: up to Keras 2.10 epsilon is outside of the root.
    """

    keras: str
    defaults: Dict[str, Any]
    train: Optional[Callable[..., Any]] = None
    only_keras: str = ""
    more: Tuple[str, ...] = ()
    epsilon_moved: bool = False

    def options(self) -> Tuple[str, ...]:
        return tuple(dict.fromkeys(tuple(self.defaults) + self.more + tuple(_SINCE_KERAS_2_11)))


def _sgd(train: Any, learning_rate: float, momentum: float, nesterov: bool) -> Any:
    if not momentum:
        return train.GradientDescentOptimizer(learning_rate)
    return train.MomentumOptimizer(learning_rate, momentum=momentum, use_nesterov=nesterov)


def _adam(train: Any, learning_rate: float, beta_1: float, beta_2: float, epsilon: float) -> Any:
    return train.AdamOptimizer(learning_rate, beta1=beta_1, beta2=beta_2, epsilon=epsilon)


def _adagrad(train: Any, learning_rate: float, initial_accumulator_value: float, epsilon: float) -> Any:
    if epsilon != _NO_EPSILON:
        raise Unavailable("tf.train's adagrad has no epsilon")
    return train.AdagradOptimizer(learning_rate, initial_accumulator_value=initial_accumulator_value)


def _adadelta(train: Any, learning_rate: float, rho: float, epsilon: float) -> Any:
    return train.AdadeltaOptimizer(learning_rate, rho=rho, epsilon=epsilon)


def _ftrl(train: Any, learning_rate: float, **options: Any) -> Any:
    return train.FtrlOptimizer(learning_rate, **options)


_ADAM = {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}

_FTRL = {
    "learning_rate": 0.001,
    "learning_rate_power": -0.5,
    "initial_accumulator_value": 0.1,
    "l1_regularization_strength": 0.0,
    "l2_regularization_strength": 0.0,
}

_OPTIMIZERS = {
    "sgd": _Optimizer("SGD", {"learning_rate": 0.01, "momentum": 0.0, "nesterov": False}, _sgd),
    "adam": _Optimizer("Adam", _ADAM, _adam, more=("amsgrad",)),
    "adamw": _Optimizer(
        "AdamW",
        dict(_ADAM, weight_decay=0.004),
        only_keras="tf.train has no AdamW; contrib's decays at another moment",
        more=("amsgrad",),
    ),
    "adamax": _Optimizer("Adamax", _ADAM, only_keras="tf.train has no Adamax"),
    "lion": _Optimizer(
        "Lion", {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.99}, only_keras="tf.train has no Lion"
    ),
    "rmsprop": _Optimizer(
        "RMSprop",
        {"learning_rate": 0.001, "rho": 0.9, "momentum": 0.0, "epsilon": _NO_EPSILON},
        only_keras="tf.train.RMSPropOptimizer starts its mean square at 1, Keras starts it at 0, and neither can be told",
        epsilon_moved=True,
    ),
    "adagrad": _Optimizer(
        "Adagrad",
        {"learning_rate": 0.001, "initial_accumulator_value": 0.1, "epsilon": _NO_EPSILON},
        _adagrad,
        epsilon_moved=True,
    ),
    "adadelta": _Optimizer("Adadelta", {"learning_rate": 0.001, "rho": 0.95, "epsilon": 1e-7}, _adadelta),
    "ftrl": _Optimizer("Ftrl", _FTRL, _ftrl),
}


def check(optimizer: Dict[str, Any]) -> None:
    """Refuse what no API could build, or what no two would build alike.

    Example:
        >>> check({"name": "adam", "learning_rate": 0.01})

    Raises:
        ArgumentError: the name or an option is missing or unknown, or a value is no number.
    """
    name = optimizer.get("name")
    if isinstance(name, str) and name in _REFUSED_NAMES:
        raise ArgumentError('OPTIMIZER["name"] {!r} is refused: {}'.format(name, _REFUSED_NAMES[name]))
    if not isinstance(name, str) or name not in _OPTIMIZERS:
        raise ArgumentError(
            'OPTIMIZER["name"] is {!r}, it must be one of {}'.format(name, ", ".join(map(repr, sorted(_OPTIMIZERS))))
        )
    known = _OPTIMIZERS[name].options()
    for option, value in optimizer.items():
        if option == "name":
            continue
        if option in _REFUSED:
            raise ArgumentError('OPTIMIZER["{}"] is refused: {}'.format(option, _REFUSED[option]))
        if option not in known:
            raise ArgumentError(
                'OPTIMIZER["{}"] is no option of {}: give some of {}'.format(option, name, ", ".join(known))
            )
        _check_value(option, value)


def _check_value(option: str, value: Any) -> None:
    is_switch = option in ("nesterov", "amsgrad")
    if isinstance(value, bool) if is_switch else isinstance(value, numbers.Real) and not isinstance(value, bool):
        return
    if is_switch:
        raise ArgumentError('OPTIMIZER["{}"] is {!r}, it must be True or False'.format(option, value))
    reason = ""
    if option == "learning_rate":
        reason = ": under a changing rate momentum means different things in tf.train and in Keras"
    raise ArgumentError('OPTIMIZER["{}"] is {!r}, it must be one number{}'.format(option, value, reason))


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
    try:
        return known.train(train, **options)
    except ValueError as error:
        raise Unavailable("tf.train's {} refused {}: {}".format(optimizer["name"], options, error)) from error


def keras_optimizer(keras: Any, optimizer: Dict[str, Any]) -> Any:
    """The optimizer of this Keras.

    Raises:
        Unavailable: it has no such optimizer, not this option, or computes something else with it.
    """
    known, options = _with_defaults(optimizer)
    make = getattr(keras.optimizers, known.keras, None)
    if make is None:
        raise Unavailable("the keras.optimizers of this TensorFlow has no {}".format(known.keras))
    if _compat.is_old_keras_optimizer_class(make):
        for option in options:
            if option in _SINCE_KERAS_2_11:
                raise Unavailable(_SINCE_KERAS_2_11[option])
        if known.epsilon_moved and options["epsilon"] != _NO_EPSILON:
            raise Unavailable(_EPSILON_OUTSIDE)
    try:
        return make(**options)
    except (TypeError, ValueError) as error:
        raise Unavailable("keras.optimizers.{} refused {}: {}".format(known.keras, options, error)) from error


def _with_defaults(optimizer: Dict[str, Any]) -> Any:
    known = _OPTIMIZERS[optimizer["name"]]
    options = dict(known.defaults)
    options.update((key, value) for key, value in optimizer.items() if key != "name")
    return known, {key: value if isinstance(value, bool) else _float32(value) for key, value in options.items()}
