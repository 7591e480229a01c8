"""What the tests of graph mode share: programs in a graph with a session, and the comparison with the oracle."""

import numpy as np
import tensorflow as tf

import freezecompat as fc
import programs
from programs import MASKS

v1 = tf.compat.v1

KINDS = {"resource": programs.Graph, "reference": programs.ReferenceGraph}
OPTIMIZERS = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: v1.train.AdamOptimizer(0.05),
}


def adam():
    return v1.train.AdamOptimizer(0.05)


def frozen_program(cls=programs.Graph, optimizer=adam, spec=None, **options):
    """A program with an attached optimizer, its train op built and its variables initialised, and its Frozen."""
    program = cls(optimizer(), **options)
    spec = fc.FreezeSpec.empty() if spec is None else spec
    frozen = fc.freeze(program.target, spec, optimizer=program.optimizer, session=program.session)
    program.finish()
    return program, frozen


def train(program, steps):
    for step in steps:
        program.train(step % programs.STEPS)


def assert_held_and_free_moved(before, after, masks=MASKS):
    """The frozen elements have the bytes that they had, and every free one has another value."""
    for name, old in before.items():
        mask = masks.get(name, np.zeros(old.shape, bool))
        assert after[name][mask].tobytes() == old[mask].tobytes(), "{}: a frozen element moved".format(name)
        rows = slice(0, 6) if name == "table" else slice(None)  # row 6 of the table is in no batch
        assert (after[name] != old)[rows][~mask[rows]].all(), "{}: a free element stands still".format(name)


def train_beside(program, oracle, steps, masks=MASKS):
    """Train both, with the same bytes in every element after every step."""
    before = program.values()
    for step in steps:
        program.train(step % programs.STEPS)
        oracle.train(step % programs.STEPS)
        now, expected = program.values(), oracle.values()
        for name in now:
            assert now[name].tobytes() == expected[name].tobytes(), "{} is not the oracle's at {}".format(name, step)
    assert_held_and_free_moved(before, now, masks)
