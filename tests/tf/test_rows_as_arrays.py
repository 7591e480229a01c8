"""A gradient of looked-up rows may be made of numpy arrays instead of tensors."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

v1 = tf.compat.v1
START = np.array([[0.5, -0.25], [-0.5, 1.0], [0.75, 0.125]], "f4")
VALUES = np.array([[1.0, 0.5], [0.25, -0.75], [-2.0, 0.5]], "f4")
ROWS = np.array([2, 0, 2], "i4")
MASK = np.array([[1, 0], [1, 1], [0, 1]], bool)


OPTIMIZERS = runtimes.optimizers()
if not runtimes.TF1:
    del OPTIMIZERS["tf.train sgd"]  # whose own code asks for the dtype of a tensor there


def trained(make, spec=None):
    """The weight after a step, with a freeze if there is a spec."""
    optimizer = make()
    if runtimes.EAGER:
        weight = tf.Variable(START, name="w")
    else:
        weight = v1.Variable(START, name="w", use_resource=True)
    if spec is not None:
        fc.freeze([weight], spec, optimizer=optimizer)
    step = optimizer.apply_gradients([(tf.IndexedSlices(VALUES, ROWS, START.shape), weight)])
    if runtimes.EAGER:
        return weight.numpy()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
        return session.run(weight)


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_it_steps_free_elements_and_no_frozen_one(optimizer, fresh_graph):
    """As without a freeze; with nothing frozen too."""
    make = OPTIMIZERS[optimizer]
    expected = trained(make)
    assert (expected[ROWS] != START[ROWS]).all()
    for spec, mask in [(fc.FreezeSpec.empty(), np.zeros_like(MASK)), ({"w": MASK}, MASK)]:
        if not runtimes.EAGER:
            v1.reset_default_graph()
        found = trained(make, spec)
        assert found[mask].tobytes() == START[mask].tobytes()
        assert found[~mask].tobytes() == expected[~mask].tobytes()
