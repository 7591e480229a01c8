"""A frozen element has its held value in the middle of a step too, for whoever reads the weight then.

1,000 reads while a weight of two million elements trains, frozen when its optimizer was warm: by another thread, and in a graph
by operations of the step's own run too, which nothing orders with it. (A tf.function orders all operations on a variable.) The
optimizers are such as leave an element alone which has fresh slots and a gradient of 0: docs/guarantees.md lists the others,
which a read may find moved. All of these do move it if its slots are not reset.
"""

import threading

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

v1 = tf.compat.v1
SIZE = 2 * 10**6
MASK = np.arange(SIZE) % 3 != 0
FREE = 3  # the index of an element that trains
# What is read: the elements within a step are more, so that the reads of a step last about as long as it.
WITHIN = np.append(np.flatnonzero(MASK)[::100], FREE).astype(np.int32)
BESIDE = np.append(np.flatnonzero(MASK)[::1000], FREE).astype(np.int32)
READS = 1000
READS_IN_A_STEP = 250
STEPS = READS // READS_IN_A_STEP


def initial():
    """No element is 0: a sum with 0 may turn -0.0 into 0.0, which docs/guarantees.md counts as moved."""
    return np.linspace(-1, 1, SIZE + 1, dtype="f4")[1:] + np.float32(2)


def tf_train():
    return {
        "adam": lambda: v1.train.AdamOptimizer(0.01),
        "momentum": lambda: v1.train.MomentumOptimizer(0.01, 0.9),
        "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.9),
    }


def of_keras(module):
    return {
        "adam": lambda: module.Adam(learning_rate=0.01),
        "momentum": lambda: module.SGD(learning_rate=0.01, momentum=0.9),
        "rmsprop": lambda: module.RMSprop(learning_rate=0.01, momentum=0.9),
    }


class OpByOp:
    """A weight and a step in eager mode."""

    session = None

    def __init__(self, make, variable):
        self.target = {"w": variable(initial())}
        (self.trained,) = self.target.values()
        self.weight = getattr(self.trained, "_value", self.trained)  # Keras 3's own holds TensorFlow's
        self.optimizer = make()

    def freeze(self):
        return fc.freeze(self.target, fc.FreezeSpec.empty(), optimizer=self.optimizer)

    def finish(self):
        """Build what trains: the optimizer is attached."""

    def step(self):
        """Gives what was read within."""
        self.optimizer.apply_gradients([(tf.ones(SIZE), self.trained)])
        return []

    def read(self):
        return self.weight.sparse_read(BESIDE).numpy()

    def values(self):
        return self.weight.numpy()


class Function(OpByOp):
    """The step in a tf.function."""

    def finish(self):
        traced = tf.function(super().step)
        self.step = lambda: traced()


class Graph:
    """A weight and a step in a TF1 graph and a session."""

    def __init__(self, make):
        self.weight = v1.get_variable("w", initializer=initial(), use_resource=True)
        self.target = {"w": self.weight}
        self.optimizer = make()
        self.session = v1.Session()

    def freeze(self):
        return fc.freeze(self.target, fc.FreezeSpec.empty(), optimizer=self.optimizer, session=self.session)

    def finish(self):
        reads = chain_of_reads(self.weight)
        beside = self.weight.sparse_read(BESIDE)
        train = self.optimizer.apply_gradients([(tf.ones(SIZE), self.weight)])
        self.session.run(v1.global_variables_initializer())
        self.step = lambda: self.session.run([train] + reads)[1:]
        self.read = lambda: self.session.run(beside)

    def values(self):
        return self.session.run(self.weight)


def chain_of_reads(weight):
    """So many reads, one after the other, which nothing orders with what else the graph does."""
    reads = []
    for _ in range(READS_IN_A_STEP):
        with tf.control_dependencies(reads[-1:]):
            reads.append(weight.sparse_read(WITHIN))
    return reads


def programs():
    """{id: function that makes a program}"""
    if not runtimes.EAGER:
        return {"graph-" + name: lambda make=make: Graph(make) for name, make in tf_train().items()}
    found = {}
    families = {"tf.train": (tf_train(), tf.Variable)}
    for package, keras in runtimes.keras_packages().items():
        variable = keras.Variable if package == "keras3" else tf.Variable
        families[package] = of_keras(keras.optimizers), variable
    for family, (optimizers, variable) in families.items():
        for name, make in optimizers.items():
            for cls in (OpByOp, Function):
                found["{}-{}-{}".format(family, cls.__name__, name)] = (
                    lambda cls=cls, make=make, variable=variable: cls(make, variable)
                )
    return found


@pytest.mark.parametrize("program", sorted(programs()))
def test_no_read_finds_a_frozen_element_moved(program):
    """Neither within the step nor beside it; the elements that train were seen to move meanwhile."""
    program = programs()[program]()
    frozen = program.freeze()
    program.finish()
    for _ in range(3):
        program.step()
    frozen.freeze({"w": MASK}, session=program.session)
    before = program.values()
    within, beside = [], []
    stop = threading.Event()

    def reader():
        while not stop.is_set():
            beside.append(program.read())

    thread = threading.Thread(target=reader)
    thread.start()
    try:
        steps = 0
        while thread.is_alive() and (steps < STEPS or len(beside) < READS):
            within.extend(program.step())
            steps += 1
    finally:
        stop.set()
        thread.join()
    assert len(beside) >= READS
    assert len(within) >= (READS if isinstance(program, Graph) else 0)
    reads = {"within": (within, before[WITHIN[:-1]].tobytes()), "beside": (beside, before[BESIDE[:-1]].tobytes())}
    moved = {place: sum(read[:-1].tobytes() != held for read in found) for place, (found, held) in reads.items()}
    assert moved == {"within": 0, "beside": 0}, "a frozen element was found moved in so many reads"
    for place, (found, _) in reads.items():
        assert not found or len({float(read[-1]) for read in found}) > 2, "no read {} it saw a step".format(place)
    after = program.values()
    assert after[MASK].tobytes() == before[MASK].tobytes()
    assert (after != before)[~MASK].all()
