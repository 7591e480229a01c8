"""Every optimizer class that the runtime at hand has, found in its own modules, so that a new one is tested without being named."""

import importlib
import inspect

import tensorflow as tf

import programs
import runtimes

v1 = tf.compat.v1

#: Their step of one element depends on the other elements of its tensor, frozen ones included: law 1 holds, and the free
#: elements are not those of the oracle, in which the frozen ones are constants.
MIX_ELEMENTS = {
    "Adafactor": "the update is clipped by its root mean square, and scaled by that of the weight",
    "GGT": "the update is made with the singular vectors of the last gradients of all weights",
    "LARS": "the rate is scaled by the norms of the weight and of the gradient",
    "Lamb": "the update is scaled by the norms of the weight and of the update",
    "Muon": "the update is made orthogonal as a whole",
    "Shampoo": "the update is multiplied by matrices made of the gradients of all rows and columns",
}

#: Base classes, and wrappers, which have tests of their own.
_NO_OPTIMIZER = ("Optimizer", "OptimizerV2", "LossScaleOptimizer", "SyncReplicasOptimizer", "MultiOptimizer")

#: Class of tf.train or contrib -> arguments beside the rate.
_V1_ARGUMENTS = {
    "AdamGSOptimizer": lambda: {"global_step": v1.train.get_or_create_global_step()},
    "AdamWOptimizer": lambda: {"weight_decay": 0.1},
    "LazyAdamGSOptimizer": lambda: {"global_step": v1.train.get_or_create_global_step()},
    "MomentumWOptimizer": lambda: {"momentum": 0.9, "weight_decay": 0.1},
    "ShampooOptimizer": lambda: {"global_step": v1.train.get_or_create_global_step()},
    "AdagradDAOptimizer": lambda: {"global_step": v1.train.get_or_create_global_step()},
    "MomentumOptimizer": lambda: {"momentum": 0.9},
}
_REGULARIZED = {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.01}
_V1_OPTIONS = {
    "MomentumOptimizer": {"nesterov": {"momentum": 0.9, "use_nesterov": True}},
    "RMSPropOptimizer": {"momentum": {"momentum": 0.9}, "centered": {"momentum": 0.9, "centered": True}},
    "AdagradDAOptimizer": {"regularized": _REGULARIZED},
    "FtrlOptimizer": {
        "regularized": _REGULARIZED,
        "shrinkage": {"l2_shrinkage_regularization_strength": 0.01},
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


def v1_optimizers(every_option=False, module=v1.train):
    """{id: function that makes one} of tf.train, or of contrib.opt."""
    found = {}
    for name, cls in _classes(module, v1.train.Optimizer).items():
        if {"opt", "optimizer"} & set(inspect.signature(cls.__init__).parameters):
            continue  # a wrapper
        arguments = _V1_ARGUMENTS.get(name, dict)
        short = name.replace("Optimizer", "")
        found[short] = _maker(cls, 0.1, arguments)
        if every_option:
            for option, more in _V1_OPTIONS.get(name, {}).items():
                found["{}-{}".format(short, option)] = _maker(cls, 0.1, arguments, more)
    return found


#: Those of contrib.opt that refuse IndexedSlices; and those that are tested each time, the others with every option.
_DENSE_ONLY = ("AddSign", "GGT", "PowerSign")
_CONTRIB = ("AdamW", "LazyAdam", "MomentumW", "Nadam") + _DENSE_ONLY


def contrib_optimizers(every_option):
    """{id: (program, function that makes one)} of contrib.opt and contrib.optimizer_v2, which TF 1.x has."""
    if not runtimes.TF1:
        return {}
    second = v1_optimizers(module=importlib.import_module("tensorflow.contrib.optimizer_v2.optimizer_v2_symbols"))
    if runtimes.EAGER:  # most are made for graphs, and tf.function stops each of contrib.optimizer_v2
        return {"v2-" + name: (programs.Tape, make) for name, make in second.items() if every_option or name == "Adam"}
    found = {}
    for name, make in v1_optimizers(module=importlib.import_module("tensorflow.contrib.opt")).items():
        if every_option or name in _CONTRIB:
            found[name] = (programs.DenseGraph if name in _DENSE_ONLY else programs.OrderedGraph, make)
    if every_option:
        found.update({"v2-" + name: (programs.OrderedGraph, make) for name, make in second.items()})
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
    "loss_scale_factor": {"loss_scale_factor": 3.0},
    "regularized": _REGULARIZED,
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
    """One optimizer under one API; `program(oracle=False)` makes the program, `looked_up` one whose step is refused."""

    def __init__(self, name, program, looked_up=None):
        self.program = program
        self.looked_up = looked_up
        self.mixes_elements = MIX_ELEMENTS.get(name.split("-")[0])  # the reason, or None
        # l1 keeps some elements at 0; clipped gradients of one row cancel out; AddSign does not step against its momentum.
        self.may_stand_still = any(part in name for part in ("regularized", "clipvalue", "AddSign"))


def _v1_programs(every_option):
    """The programs of `tf.train`: of a graph the one with the variables that the runtime makes by default, or both."""
    if runtimes.EAGER:
        return [programs.Function]
    if every_option:
        return [programs.Graph, programs.ReferenceGraph]
    return [programs.ReferenceGraph if runtimes.TF1 else programs.Graph]


def cases(every_option):
    """{id: Case} of this runtime and mode."""
    found = {}
    for cls in _v1_programs(every_option):
        for name, make in v1_optimizers(every_option).items():
            found["tf.train {} {}".format(cls.__name__, name)] = Case(name, runtimes.program(cls, make))
    for name, (cls, make) in contrib_optimizers(every_option).items():
        looked_up = runtimes.program(programs.OrderedGraph, make) if cls is programs.DenseGraph else None
        found["contrib {} {}".format(cls.__name__, name)] = Case(name, runtimes.program(cls, make), looked_up)
    for package, keras, family, module in runtimes.keras_optimizer_modules():
        for name, make in keras_optimizers(module, every_option).items():
            found["{} {}".format(_api(package, family), name)] = _keras_case(name, keras, make)
    return found


def clipping_cases():
    """{id: Case} of each Keras' SGD that clips by the norm of a gradient."""
    found = {}
    for package, keras, family, module in runtimes.keras_optimizer_modules():
        make = _maker(module.SGD, 0.05, dict, _KERAS_OPTIONS["clipnorm"])
        found[_api(package, family)] = _keras_case("SGD-clipnorm", keras, make)
    return found


def xla_cases(names=None):
    """{id: Case} of each Keras' optimizers, or of those with these names, in a step that XLA compiles."""
    found = {}
    for package, keras, family, module in runtimes.keras_optimizer_modules():
        for name, make in keras_optimizers(module).items():
            if names is None or name in names:
                program = runtimes.program(programs.KerasXla, make, keras=keras)
                found["{} {}".format(_api(package, family), name)] = Case(name, program)
    return found


def _api(package, family):
    return " ".join([package] + family.split("-")[:-1])


def _keras_case(name, keras, make):
    cls, refused = _keras_programs(name)
    looked_up = refused and runtimes.program(refused, make, keras=keras)
    return Case(name, runtimes.program(cls, make, keras=keras), looked_up)


def _keras_programs(name):
    """The program of a Keras optimizer, and the one with a looked-up weight where Keras refuses that."""
    if not runtimes.EAGER:
        return programs.KerasModel, None
    if name.endswith("loss_scale_factor"):  # it divides the gradient, and IndexedSlices can't be divided
        return programs.DenseKerasFunction, programs.KerasFunction
    if runtimes.TF1 and "clip" in name:  # in eager mode it clips nowhere else
        return programs.KerasMinimize, None
    return programs.KerasFunction, None
