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
    """One optimizer under one API."""

    def __init__(self, program, make, keras, name):
        self._program = program
        self._make = make
        self._keras = keras
        self.mixes_elements = name.split("-")[0] in MIX_ELEMENTS
        self.may_stand_still = "regularized" in name  # l1 keeps some elements at 0

    def program(self, oracle=False):
        options = {} if self._keras is None else {"keras": self._keras}
        program = self._program(self._make(), oracle, **options)
        program.slots = lambda variable: _slots_and_fresh_values(program, self._make, variable)
        return program


def cases(every_option):
    """{id: Case} of this runtime and mode."""
    found = {}
    for program in [programs.Function] if runtimes.EAGER else [programs.Graph, programs.ReferenceGraph]:
        for name, make in v1_optimizers(every_option).items():
            found["tf.train {} {}".format(program.__name__, name)] = Case(program, make, None, name)
    program = programs.KerasFunction if runtimes.EAGER else programs.KerasModel
    for package, family, module in runtimes.keras_optimizer_modules():
        for name, make in keras_optimizers(module, every_option).items():
            found["{} {}".format(package + family, name)] = Case(
                program, make, runtimes.keras_packages()[package], name
            )
    return found


def _slots_and_fresh_values(program, make, variable):
    """(slot, its value in a fresh optimizer) of all that the optimizer remembers for a weight; each weight has its own shape."""
    optimizer = getattr(program.optimizer, "optimizer", program.optimizer)  # out of Keras' TFOptimizer
    slots = [slot for slot in _listed(optimizer) if tuple(slot.shape) == tuple(variable.shape)]
    if program.session:
        return [(slot, program.session.run(slot.initializer.inputs[1])) for slot in slots]
    fresh = make()
    if isinstance(fresh, v1.train.Optimizer):
        fresh._prepare()
        fresh._create_slots(program.trained)
    elif hasattr(fresh, "build"):
        fresh.build(program.trained)
    else:
        fresh._create_hypers()
        fresh._create_slots(program.trained)
    return [
        (slot, value.numpy())
        for slot, value in zip(slots, [one for one in _listed(fresh) if tuple(one.shape) == tuple(variable.shape)])
    ]


def _listed(optimizer):
    return optimizer.variables() if callable(optimizer.variables) else optimizer.variables
