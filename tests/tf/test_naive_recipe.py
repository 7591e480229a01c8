"""Negative control: a gradient multiplied by a mask, the usual recipe, fails, and this harness sees it."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes

v1 = tf.compat.v1
START = np.array([[1.0, -2.0], [3.0, 4.0]], "f4")
FREEZE_MASK = np.array([[0, 1], [0, 0]], bool)
GRADIENT = np.array([[1.0, 2.0], [-1.0, 0.5]], "f4")


def optimizers():
    found = {"tf.train-" + name: runtimes.v1_optimizers()[name] for name in ("momentum", "adam")}
    if runtimes.EAGER:
        for name, kit in kits.kits().items():
            for optimizer, make in runtimes.keras_optimizers(kit.module).items():
                if optimizer != "sgd":
                    found["{}-{}".format(name, optimizer)] = make
    return found


OPTIMIZERS = optimizers()


@pytest.fixture(params=sorted(OPTIMIZERS))
def make_optimizer(request):
    return OPTIMIZERS[request.param]


class Run:
    """A weight under an optimizer, in eager mode or in a graph with a Session; `mask` multiplies the gradient."""

    def __init__(self, optimizer, spec=None):
        self.optimizer = optimizer
        if runtimes.EAGER:
            self.weight, self.session = tf.Variable(START), None
        else:
            v1.reset_default_graph()
            self.weight = v1.Variable(START, use_resource=True)
            self.fed = v1.placeholder(tf.float32, START.shape)
            self.session = v1.Session()
        self.frozen = fc.freeze([self.weight], fc.FreezeSpec.empty(), optimizer=optimizer) if spec else None
        if self.session:
            self.train_op = optimizer.apply_gradients([(self.fed, self.weight)])
            self.session.run(v1.global_variables_initializer())

    def step(self, gradient):
        if self.session:
            self.session.run(self.train_op, {self.fed: gradient})
        else:
            self.optimizer.apply_gradients([(tf.constant(gradient), self.weight)])

    def value(self):
        return self.session.run(self.weight) if self.session else self.weight.numpy()

    def frozen_after_warm_up(self, gradient, act):
        """Three steps, `act` freezes, three more: did the frozen element keep its bytes, did all others move?"""
        for _ in range(3):
            self.step(GRADIENT)
        act()
        before = self.value()
        for _ in range(3):
            self.step(gradient)
        after = self.value()
        return after[FREEZE_MASK].tobytes() == before[FREEZE_MASK].tobytes(), (after != before)[~FREEZE_MASK].all()


def test_a_multiplied_gradient_leaks_with_warm_slots(make_optimizer):
    """The naive recipe moves the element by what Adam or momentum remembers, or by weight decay: seen here."""
    held, moved = Run(make_optimizer()).frozen_after_warm_up(GRADIENT * ~FREEZE_MASK, lambda: None)
    assert moved and not held


def test_a_freeze_holds_where_the_multiplied_gradient_leaks(make_optimizer):
    """The same run with a freeze: the element keeps its bytes, all others train."""
    run = Run(make_optimizer(), spec=True)
    freeze = functools.partial(run.frozen.freeze, {"#0": FREEZE_MASK}, session=run.session)
    held, moved = run.frozen_after_warm_up(GRADIENT, freeze)
    assert held and moved
    run.frozen.verify(session=run.session)


def test_a_multiplied_nan_gradient_spreads(make_optimizer):
    """0 times NaN is NaN: multiplying a frozen element's gradient by 0 ruins the element, selecting does not."""
    poisoned = np.where(FREEZE_MASK, np.float32(np.nan), GRADIENT)
    naive = Run(make_optimizer())
    naive.step(poisoned * ~FREEZE_MASK)
    assert np.isnan(naive.value()[FREEZE_MASK]).all()
    run = Run(make_optimizer(), spec=True)
    run.frozen.freeze({"#0": FREEZE_MASK}, session=run.session)
    run.step(poisoned)
    assert run.value()[FREEZE_MASK].tobytes() == START[FREEZE_MASK].tobytes()
    assert np.isfinite(run.value()).all() and (run.value() != START)[~FREEZE_MASK].all()
