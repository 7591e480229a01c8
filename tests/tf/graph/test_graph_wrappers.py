"""Optimizers that hold another one, in a graph: the freeze is reached whichever of the two it is given."""

import importlib

import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
import runtimes
from graph_kit import MASKS, v1


class UsersOwn:
    """A class of the user's, no optimizer for TensorFlow, that holds one."""

    def __init__(self, inner):
        self.inner = inner

    def minimize(self, loss, global_step, var_list):
        pairs = self.inner.compute_gradients(loss, var_list)
        return self.inner.apply_gradients(list(reversed(pairs)), global_step)


class UsersSubclass(v1.train.Optimizer):
    """A subclass that passes each call on."""

    def __init__(self, inner):
        super().__init__(False, "UsersSubclass")
        self._inner = inner

    def compute_gradients(self, *args, **kwargs):
        return self._inner.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args, **kwargs):
        return self._inner.apply_gradients(*args, **kwargs)


def loss_scale(inner):
    return v1.train.experimental.MixedPrecisionLossScaleOptimizer(inner, v1.train.experimental.FixedLossScale(128.0))


def wrappers():
    found = {"UsersOwn": UsersOwn, "UsersSubclass": UsersSubclass, "loss scale": loss_scale}
    if runtimes.TF1:
        opt = importlib.import_module("tensorflow.contrib.opt")
        mixed = importlib.import_module("tensorflow.contrib.mixed_precision")
        found["MovingAverage"] = lambda inner: opt.MovingAverageOptimizer(inner, average_decay=0.5)
        found["Multitask"] = opt.MultitaskOptimizerWrapper
        found["contrib loss scale"] = lambda inner: mixed.LossScaleOptimizer(inner, mixed.FixedLossScaleManager(128.0))
    return found


WRAPPERS = wrappers()


class Wrapped(programs.Graph):
    outer = None

    def minimize(self):
        return self.outer.minimize(self.loss, global_step=self.global_step, var_list=self.trained)


def wrapped(name, oracle=False):
    program = Wrapped(graph_kit.adam(), oracle=oracle)
    program.outer = WRAPPERS[name](program.optimizer)
    return program


@pytest.mark.parametrize("given", ["inner", "outer"])
@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_a_wrapper_around_the_optimizer(name, given):
    if given != "inner" and name == "UsersOwn":
        pytest.skip("it is no optimizer")
    program, oracle = wrapped(name), wrapped(name, oracle=True)
    optimizer = {"inner": program.optimizer, "outer": program.outer}[given]
    frozen = fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=optimizer)
    program.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(2, 5))
    frozen.verify(session=program.session)
    frozen.thaw(session=program.session)
    oracle.set_frozen({})
    graph_kit.train_beside(program, oracle, range(5, 7), {})


@pytest.mark.parametrize("given", ["inner", "outer"])
def test_a_frozen_nan_skips_no_step_of_a_loss_scaler(given):
    """The freeze selects before the scaler looks, whichever of the two it is given."""
    weight = v1.Variable([1.0, 2.0, 3.0], use_resource=True)
    inner = graph_kit.adam()
    experimental = v1.train.experimental
    outer = experimental.MixedPrecisionLossScaleOptimizer(inner, experimental.DynamicLossScale(128.0))
    frozen = fc.freeze([weight], [(weight, [(0,)])], optimizer={"inner": inner, "outer": outer}[given])
    train_op = outer.apply_gradients([(tf.constant([float("nan"), 128.0, 128.0]), weight)])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        before = session.run(weight)
        session.run(train_op)
        assert (session.run(weight) != before).tolist() == [False, True, True]
        frozen.verify()


@pytest.mark.parametrize("given", ["inner", "outer"])
def test_the_mixed_precision_graph_rewrite(given):
    """enable_mixed_precision_graph_rewrite itself, with sessions that have it on."""
    experimental = v1.train.experimental
    program, oracle = Wrapped(graph_kit.adam()), Wrapped(graph_kit.adam(), oracle=True)
    try:
        for one in (program, oracle):
            one.outer = experimental.enable_mixed_precision_graph_rewrite(one.optimizer, 128.0)
            one.session = v1.Session(graph=one.session.graph)
        optimizer = {"inner": program.optimizer, "outer": program.outer}[given]
        frozen = fc.freeze(program.target, MASKS, optimizer=optimizer, session=program.session)
        program.finish()
        oracle.set_frozen(MASKS)
        graph_kit.train_beside(program, oracle, range(4))
        frozen.verify(session=program.session)
    finally:
        experimental.disable_mixed_precision_graph_rewrite()
