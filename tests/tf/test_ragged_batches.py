"""Batches of another size in each step, empty ones too, and ragged look-ups: the gradients are the oracle's."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import programs
import runtimes
from programs import BATCHES, MASKS

SIZES = [7, 0, 3, 7, 0, 3]


def ragged(cls):
    """A program whose example k looks up as many rows of the table as its last input modulo 3 says."""

    class Ragged(cls):
        tied = False

        def loss_of(self, inputs, y):
            read, look_up = self.weights.read, self.weights.look_up
            hidden = tf.tanh(tf.matmul(inputs[:, :4], read("kernel")) + read("bias"))
            first = tf.cast(inputs[:, 4], tf.int32)
            rows = tf.ragged.range(first, first + first % 3) % 7
            looked_up = tf.ragged.map_flat_values(lambda values: look_up("table", values), rows)
            output = tf.matmul(hidden, read("mix")) + tf.reshape(tf.reduce_sum(looked_up, axis=1), tf.shape(y))
            if self.tied:  # the gradient of the table has a dense part and looked-up ones
                output = tf.matmul(output, tf.transpose(read("table")))
                y = tf.matmul(y, tf.ones([2, 7]))
            return tf.reduce_sum(tf.square(output - y)) / 8

        def batch(self, step):
            return [array[: SIZES[step]] for array in BATCHES[step]]

    return Ragged


def loops():
    """{id: (class of programs, function that makes an optimizer)}."""
    found = {}
    for cls in [programs.Tape, programs.Function] if runtimes.EAGER else [programs.Graph, programs.ReferenceGraph]:
        found["tf.train {}".format(cls.__name__)] = ragged(cls), runtimes.v1_optimizers()["adam"]
    for package, _, family, module in runtimes.keras_optimizer_modules() if runtimes.EAGER else ():
        found[package + " " + family] = ragged(programs.Tape), runtimes.keras_optimizers(module)["adam"]
    return found


LOOPS = loops()


@pytest.mark.parametrize("tied", [False, True], ids=["looked up", "tied"])
@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_ragged_and_empty_batches(loop, tied):
    cls, make = LOOPS[loop]
    cls.tied = tied
    program, oracle = cls(make()), cls(make(), oracle=True, fresh=make)
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    program.finish()
    oracle.set_frozen(MASKS)
    start = now = program.values()
    for step in range(len(SIZES)):
        program.train(step)
        oracle.train(step)
        now, expected = program.values(), oracle.values()
        for name, value in now.items():
            assert value.tobytes() == expected[name].tobytes(), "{} is not the oracle's at {}".format(name, step)
    for name, mask in MASKS.items():
        assert now[name][mask].tobytes() == start[name][mask].tobytes(), "{} moved".format(name)
        assert (now[name] != start[name])[~mask].any(), "{} does not train".format(name)
    for name, variable in program.weights.variables.items():  # a gradient that is not selected would fill them
        slots, expected = slots_of(program, variable), slots_of(oracle, oracle.weights.variables[name])
        assert len(slots) == 2 and slots == expected
    frozen.verify(session=program.session)


def slots_of(program, variable):
    return [np.array(program.run(slot)).tobytes() for slot in programs.of_shape(program.optimizer, variable.shape)]
