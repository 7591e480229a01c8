"""Optimizers that hold another one, in a graph: the freeze is reached whichever of the two it is given."""

import importlib

import numpy as np
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


CONTRIB = pytest.mark.skipif(not runtimes.TF1, reason="contrib is in TF 1.x")


@CONTRIB
@pytest.mark.parametrize("given", ["inner", "outer"])
@pytest.mark.parametrize("name", ["AGN", "ElasticAverage", "ModelAverage"])
def test_an_optimizer_that_copies_weights_between_workers_is_refused(name, given):
    """It writes a common copy over the weight of a worker: fc.freeze and attach say so, and change nothing."""
    opt = importlib.import_module("tensorflow.contrib.opt")
    custom = {"AGN": "AGNCustomGetter", "ElasticAverage": "ElasticAverageCustomGetter"}.get(
        name, "ModelAverageCustomGetter"
    )
    getter = getattr(opt, custom)("/cpu:0")
    with v1.variable_scope("worker", custom_getter=getter):
        weight = v1.get_variable("weight", initializer=[1.0, 2.0, 3.0])
    inner = v1.train.GradientDescentOptimizer(0.1)
    arguments = {
        "AGN": (inner, 2, getter),
        "ElasticAverage": (inner, 2, getter),
        "ModelAverage": (inner, 2, True, getter),
    }
    outer = getattr(opt, name + "Optimizer")(*arguments[name])
    optimizer = {"inner": inner, "outer": outer}[given]
    with pytest.raises(fc.ArgumentError, match=name + "Optimizer keeps a copy of each weight"):
        fc.freeze([weight], [(weight, [(0,)])], optimizer=optimizer)
    frozen = fc.freeze([weight], [(weight, [(0,)])])
    with pytest.raises(fc.ArgumentError, match=name + "Optimizer keeps a copy of each weight"):
        frozen.attach(optimizer)
    assert not {"apply_gradients", "_finish"} & (vars(inner).keys() | vars(outer).keys())


@CONTRIB
@pytest.mark.parametrize("given", ["inner", "outer"])
@pytest.mark.parametrize("optimizer", ["sgd", "ftrl"])
def test_variable_clipping_sees_the_held_values(optimizer, given):
    """It clips each row after the step, the frozen elements in it included; what it makes of them does not count."""
    opt = importlib.import_module("tensorflow.contrib.opt")
    make = {"sgd": graph_kit.OPTIMIZERS["sgd"], "ftrl": lambda: v1.train.FtrlOptimizer(0.5)}[optimizer]
    value = np.array([[3.0, 4.0, 1.0], [0.5, -2.0, 2.5]], "f4")
    mask = np.array([[1, 0, 0], [0, 0, 1]], bool)
    gradient = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], "f4")
    weight, plain = v1.Variable(value, use_resource=True), v1.Variable(value, use_resource=True)
    inner = make()
    outer = opt.VariableClippingOptimizer(inner, {weight: [1]}, 2.0)
    frozen = fc.freeze([weight], [(weight, mask)], optimizer={"inner": inner, "outer": outer}[given])
    train_op = outer.apply_gradients([(tf.constant(gradient), weight)])
    stock_op = make().apply_gradients([(tf.constant(np.where(mask, 0, gradient).astype("f4")), plain)])
    whole = v1.placeholder(tf.float32, value.shape)
    clipped = whole - (whole - tf.clip_by_norm(whole, 2.0, [1]))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(stock_op)
            expected = session.run(clipped, {whole: np.where(mask, value, session.run(plain))})
            plain.load(expected, session)
            session.run(train_op)
            now = session.run(weight)
            assert now[mask].tobytes() == value[mask].tobytes()
            assert now[~mask].tobytes() == expected[~mask].tobytes()
            assert (expected != value).all()
        frozen.verify()


@CONTRIB
@pytest.mark.parametrize("given", ["inner", "outer"])
def test_stale_gradients_are_dropped_and_others_held(given):
    opt = importlib.import_module("tensorflow.contrib.opt")
    weight = v1.Variable([1.0, 2.0, 3.0], use_resource=True)
    step = v1.train.get_or_create_global_step()
    inner = graph_kit.adam()
    outer = opt.DropStaleGradientOptimizer(inner, staleness=0)
    frozen = fc.freeze([weight], fc.FreezeSpec.empty(), optimizer={"inner": inner, "outer": outer}[given])
    with v1.variable_scope("counter", use_resource=True):
        train_op = outer.minimize(tf.reduce_sum(tf.square(weight)), global_step=step, var_list=[weight])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(train_op)
        frozen.freeze([(weight, [(0,)])], session=session)
        before = session.run(weight)
        session.run(train_op)
        assert (session.run(weight) != before).tolist() == [False, True, True]
        frozen.verify(session=session)


@CONTRIB
def test_an_extension_with_decoupled_weight_decay():
    """A class that contrib makes of another: it decays before its step, frozen elements are put back."""
    opt = importlib.import_module("tensorflow.contrib.opt")
    cls = opt.extend_with_decoupled_weight_decay(v1.train.AdamOptimizer)

    def make():
        return cls(weight_decay=0.1, learning_rate=0.05)

    program, oracle = programs.OrderedGraph(make()), programs.OrderedGraph(make(), oracle=True)
    frozen = fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=program.optimizer)
    program.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(2, 5))
    frozen.verify(session=program.session)


@CONTRIB
def test_an_external_optimizer_is_reported():
    """It computes outside of the graph (scipy's does) and writes whole weights: it is no optimizer to attach to."""
    opt = importlib.import_module("tensorflow.contrib.opt")

    class Descent(opt.ExternalOptimizerInterface):
        def _minimize(self, initial_val, loss_grad_func, **options):
            return initial_val - 0.1 * loss_grad_func(initial_val)[1]

    weight = v1.Variable([1.0, 2.0, 3.0], use_resource=True)
    external = Descent(tf.reduce_sum(tf.square(weight)), [weight])
    with pytest.raises(fc.NotAnOptimizer, match="Descent"):
        fc.freeze([weight], [(weight, [(0,)])], optimizer=external)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        frozen = fc.freeze([weight], [(weight, [(0,)])], optimizer=graph_kit.adam())
        external.minimize(session)
        with pytest.raises(fc.FrozenWeightsMoved):
            frozen.verify()
