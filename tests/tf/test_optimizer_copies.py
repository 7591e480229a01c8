"""Copies of a hooked `tf.train` optimizer are free and independent, and are made as without a freeze."""

import copy
import pickle

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc

v1 = tf.compat.v1
START = np.array([1.0, 2.0, 3.0], "f4")
OPTIMIZERS = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: v1.train.AdamOptimizer(0.05),
}
COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda optimizer: pickle.loads(pickle.dumps(optimizer)),
}


class Trained:
    """A weight of three elements, and what some steps of an optimizer leave in it."""

    def __init__(self):
        self.weight = v1.Variable(START, use_resource=True)

    def after(self, optimizer, steps=3):
        if tf.executing_eagerly():
            self.weight.assign(START)
            for _ in range(steps):
                optimizer.apply_gradients([(tf.ones([3]), self.weight)])
            return self.weight.numpy()
        train_op = optimizer.apply_gradients([(tf.ones([3]), self.weight)])
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(steps):
                session.run(train_op)
            return session.run(self.weight)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_copy_is_free_and_the_original_stays_frozen(name, way):
    """The copy trains every element, through itself; the original holds what is frozen."""
    one, other = Trained(), Trained()
    optimizer = OPTIMIZERS[name]()
    frozen = fc.freeze([one.weight], [("#0", (1,))], optimizer=optimizer)
    made = COPIES[way](optimizer)
    assert type(made) is type(optimizer)
    free = other.after(made)
    assert (free != START).all()
    held = one.after(optimizer)
    assert held[1].tobytes() == START[1].tobytes() and (held != START).tolist() == [True, False, True]
    assert held[0].tobytes() == free[0].tobytes()
    frozen.release()


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_copy_trains_the_frozen_weight_itself_freely(name, way):
    """A copy knows nothing of the freeze, on the frozen weight too; after it the original is as it was."""
    one = Trained()
    optimizer = OPTIMIZERS[name]()
    fc.freeze([one.weight], [("#0", (1,))], optimizer=optimizer)
    before = dict(vars(optimizer))
    free = one.after(COPIES[way](optimizer))
    assert (free != START).all()
    assert vars(optimizer).keys() == before.keys() and all(vars(optimizer)[key] is before[key] for key in before)


def test_a_copy_made_after_the_release_is_a_stock_one():
    """release() leaves nothing on the optimizer that a copy could take along."""
    one = Trained()
    optimizer = OPTIMIZERS["adam"]()
    names = set(vars(optimizer))
    fc.freeze([one.weight], [("#0", (1,))], optimizer=optimizer).release()
    assert set(vars(optimizer)) == names
    assert (one.after(copy.deepcopy(optimizer)) != START).all()
