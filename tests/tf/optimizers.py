"""Every optimizer class that the runtime at hand has, found in its own modules, so that a new one is tested without being named."""

import inspect

import tensorflow as tf

import programs
import runtimes

v1 = tf.compat.v1

#: Their step of one element depends on the other elements of its tensor, frozen ones included: law 1 holds, and the free
#: elements are not those of the oracle, in which the frozen ones are constants.
MIX_ELEMENTS = {
    "Adafactor": "the update is clipped by its root mean square, and scaled by that of the weight",
    "Lamb": "the update is scaled by the norms of the weight and of the update",
    "Muon": "the update is made orthogonal as a whole",
}

#: Base classes, and wrappers, which have tests of their own.
_NO_OPTIMIZER = ("Optimizer", "LossScaleOptimizer", "SyncReplicasOptimizer", "MultiOptimizer")

#: tf.train class -> arguments beside the rate.
_V1_ARGUMENTS = {
    "AdagradDAOptimizer": lambda: {"global_step": v1.train.get_or_create_global_step()},
    "MomentumOptimizer": lambda: {"momentum": 0.9},
}
_V1_OPTIONS = {
    "MomentumOptimizer": {"nesterov": {"momentum": 0.9, "use_nesterov": True}},
    "RMSPropOptimizer": {"momentum": {"momentum": 0.9}, "centered": {"momentum": 0.9, "centered": True}},
    "FtrlOptimizer": {
        "regularized": {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.01},
    },
    "ProximalGradientDescentOptimizer": {"regularized": {"l1_regularization_strength": 0.01}},
    "ProximalAdagradOptimizer": {"regularized": {"l1_regularization_strength": 0.01}},
}


def _classes(module, base):
    """{name: class} of the public classes of a module that derive from `base`, wrappers and base classes left out."""
    found = {}
    for name in dir(module):
        cls = getattr(module, name)
        if inspect.isclass(cls) and issubclass(cls, base) and cls is not base and name not in _NO_OPTIMIZER:
            found.setdefault(cls, name)
    return {name: cls for cls, name in found.items()}


def v1_optimizers(every_option=False):
    """{id: function that makes one} of tf.train."""
    found = {}
    for name, cls in _classes(v1.train, v1.train.Optimizer).items():
        arguments = _V1_ARGUMENTS.get(name, dict)
        short = name.replace("Optimizer", "")
        found[short] = _maker(cls, 0.1, arguments)
        if every_option:
            for option, more in _V1_OPTIONS.get(name, {}).items():
                found["{}-{}".format(short, option)] = _maker(cls, 0.1, arguments, more)
    return found


_KERAS_OPTIONS = {
    "amsgrad": {"amsgrad": True},
    "centered": {"centered": True},
    "momentum": {"momentum": 0.9},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "weight_decay": {"weight_decay": 0.1},
    "clipnorm": {"clipnorm": 0.1},
    "global_clipnorm": {"global_clipnorm": 0.1},
    "clipvalue": {"clipvalue": 0.01},
    "ema": {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 2},
    "accumulation": {"gradient_accumulation_steps": 2},
}


def keras_optimizers(module, every_option=False):
    """{id: function that makes one} of a module `keras.optimizers`, or of its `legacy`."""
    found = {}
    for name, cls in _classes(module, module.Optimizer).items():
        found[name] = _maker(cls, 0.05, dict)
        if every_option:
            for option, more in _KERAS_OPTIONS.items():
                if _takes(cls, more):
                    found["{}-{}".format(name, option)] = _maker(cls, 0.05, dict, more)
    return found


def _takes(cls, arguments):
    try:
        cls(learning_rate=0.05, **arguments)
    except (TypeError, ValueError):
        return False
    return True


def _maker(cls, rate, arguments, more=()):
    return lambda: cls(learning_rate=rate, **dict(arguments(), **dict(more)))


class Case:
    """One optimizer under one API; `program(oracle=False)` makes the program."""

    def __init__(self, name, program):
        self.program = program
        self.mixes_elements = name.split("-")[0] in MIX_ELEMENTS
        self.may_stand_still = "regularized" in name  # l1 keeps some elements at 0


def cases(every_option):
    """{id: Case} of this runtime and mode."""
    found = {}
    for cls in [programs.Function] if runtimes.EAGER else [programs.Graph, programs.ReferenceGraph]:
        for name, make in v1_optimizers(every_option).items():
            found["tf.train {} {}".format(cls.__name__, name)] = Case(name, runtimes.program(cls, make))
    cls = programs.KerasFunction if runtimes.EAGER else programs.KerasModel
    for package, keras, family, module in runtimes.keras_optimizer_modules():
        for name, make in keras_optimizers(module, every_option).items():
            found["{} {}{}".format(package, family, name)] = Case(name, runtimes.program(cls, make, keras=keras))
    return found
