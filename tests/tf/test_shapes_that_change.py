"""A variable whose shape is not fixed can't be frozen; an optimizer that steps it beside frozen ones may be attached."""

import re

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

v1 = tf.compat.v1
START = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, 0.125]], "f4")
GRADIENT = np.array([[1.0, 0.5, -0.5], [0.25, -0.75, 2.0]], "f4")
SHAPES = {"no length": [None, 3], "no rank": None}
HELD = (0, 1)


def variable(name, shape):
    """Of START, with a shape that is known in part, or not at all."""
    if runtimes.EAGER:
        return tf.Variable(START, name=name, shape=tf.TensorShape(shape))
    if shape is None:  # a reference variable
        return v1.Variable(START, name=name, use_resource=False, validate_shape=False)
    return v1.Variable(START, name=name, use_resource=True, shape=tf.TensorShape(shape))


class Steps:
    """Two steps of an optimizer over a fixed and a changing variable, with given gradients."""

    def __init__(self, make, shape):
        self.fixed = variable("fixed", START.shape)
        self.changing = variable("changing", shape)
        self.optimizer = make()

    def run(self):
        """{name: the values that the steps leave}."""
        if runtimes.EAGER:
            for _ in range(2):
                self.optimizer.apply_gradients(self.pairs())
            return {"fixed": self.fixed.numpy(), "changing": self.changing.numpy()}
        step = self.optimizer.apply_gradients(self.pairs())
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(2):
                session.run(step)
            return session.run({"fixed": self.fixed, "changing": self.changing})

    def pairs(self):
        return [(tf.constant(GRADIENT), self.fixed), (tf.constant(GRADIENT), self.changing)]


def frozen_steps(make, shape):
    if not runtimes.EAGER:
        v1.reset_default_graph()
    steps = Steps(make, shape)
    fc.freeze([steps.fixed], {"fixed": [HELD]}, optimizer=steps.optimizer)
    return steps


def optimizers():
    found = {"tf.train": lambda: v1.train.GradientDescentOptimizer(0.1)}
    if runtimes.EAGER:
        for package, _, family, module in runtimes.keras_optimizer_modules():
            found["{}-{}sgd".format(package, family)] = lambda module=module: module.SGD(learning_rate=0.1)
    return found


OPTIMIZERS = optimizers()


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_one_is_trained_beside_frozen_elements(optimizer, shape):
    """As without a freeze; the other one is held where it is frozen, and trained elsewhere."""
    make, shape = OPTIMIZERS[optimizer], SHAPES[shape]
    try:
        expected = Steps(make, shape).run()
    except ValueError as error:  # Keras 2.11 and later make slots of the shape
        refused = re.escape(str(error))
        with pytest.raises(ValueError, match=refused):
            frozen_steps(make, shape).run()
        return
    found = frozen_steps(make, shape).run()
    expected["fixed"][HELD] = START[HELD]
    assert {name: value.tobytes() for name, value in found.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }
    assert (expected["changing"] != START).all()


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_an_optimizer_may_step_nothing_else(shape, monkeypatch):
    """There is nothing to hold in its step, which is taken all the same."""
    monkeypatch.setattr(Steps, "pairs", lambda steps: [(tf.constant(GRADIENT), steps.changing)])
    expected = Steps(OPTIMIZERS["tf.train"], SHAPES[shape]).run()
    found = frozen_steps(OPTIMIZERS["tf.train"], SHAPES[shape]).run()
    assert found["changing"].tobytes() == expected["changing"].tobytes()
    assert (found["changing"] != START).all() and (found["fixed"] == START).all()


@pytest.mark.parametrize("target", [list, lambda pair: {"fixed": pair[0], "changing": pair[1]}], ids=["list", "dict"])
def test_one_in_a_list_is_refused(target):
    """The error names it, and says what to do."""
    pair = [variable("fixed", START.shape), variable("changing", [None, 3])]
    with pytest.raises(fc.ArgumentError, match="changing has the shape .* 3.*Leave it out"):
        fc.freeze(target(pair), {"fixed": [HELD]})


def test_what_finds_its_weights_itself_leaves_it_out():
    """A tf.Module; in graph mode the trainable variables of the graph."""
    module = tf.Module()
    module.pair = [variable("fixed", START.shape), variable("changing", None)]
    assert [row.address for row in fc.list_weights(module)] == ["fixed"]
    if not runtimes.EAGER:
        assert [row.address for row in fc.list_weights(None)] == ["fixed"]


def test_mask_gradients_leaves_its_gradient_alone():
    """The one of the other variable is selected."""
    pair = [variable("fixed", START.shape), variable("changing", [None, 3])]
    frozen = fc.freeze(pair[:1], {"fixed": [HELD]}, optimizer=v1.train.GradientDescentOptimizer(0.1))
    gradients = [tf.constant(GRADIENT), tf.constant(GRADIENT)]
    selected = frozen.mask_gradients(gradients, pair)
    assert selected[1] is gradients[1]
    if runtimes.EAGER:
        assert selected[0].numpy()[HELD] == 0 and (selected[0].numpy() != 0).sum() == GRADIENT.size - 1
