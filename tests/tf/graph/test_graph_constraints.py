"""A variable's own constraint in a TF1 graph."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
from graph_kit import KINDS, OPTIMIZERS, v1

HELD = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, 0.125], [0.25, -1.0, 0.5]], "f4")
FROZEN = [(1, 2), (2, 0)]
MASK = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0]], bool)


def unit_norm(w):
    return w / tf.sqrt(tf.reduce_sum(tf.square(w), axis=0, keepdims=True))


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("make", [OPTIMIZERS["adam"], lambda: v1.train.FtrlOptimizer(0.5)], ids=["adam", "ftrl"])
def test_a_constraint_sees_the_held_values_and_counts_for_the_free_elements(kind, make):
    """Ftrl rebuilds frozen elements too before the constraint looks."""
    optimizer, stock = make(), make()
    weight = v1.get_variable("w", initializer=HELD, use_resource=kind == "resource", constraint=unit_norm)
    free = v1.get_variable("v", initializer=HELD, use_resource=True)
    gradient = v1.placeholder(tf.float32, HELD.shape)
    frozen = fc.freeze([weight], [(weight, FROZEN)], optimizer=optimizer)
    step = optimizer.apply_gradients([(gradient, weight)])
    free_step = stock.apply_gradients([(gradient, free)])
    constrained = unit_norm(tf.where(tf.constant(MASK), tf.constant(HELD), free))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for k in range(4):
            given = np.cos(np.arange(9.0, dtype="f4") + k).reshape(HELD.shape)
            session.run(step, {gradient: given})
            session.run(free_step, {gradient: np.where(MASK, 0, given)})
            session.run(free.initializer, {free.initializer.inputs[1]: session.run(constrained)})
            now, expected = session.run([weight, free])
            assert now[MASK].tobytes() == HELD[MASK].tobytes()
            np.testing.assert_allclose(now[~MASK], expected[~MASK], rtol=1e-6)
        frozen.verify(session=session)
