"""Whatever a gradient is, in whatever weight: frozen elements hold their bytes, free ones are the oracle's."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import given
from given import Rows

BFLOAT16 = tf.bfloat16.as_numpy_dtype

_random = np.random.RandomState(0)


def numbers(shape, dtype="float32"):
    return _random.uniform(-1, 1, shape).astype(dtype)


def every_other(shape):
    """Half of the elements, the first one among them."""
    return (np.arange(int(np.prod(shape))) % 2 == 0).reshape(shape)


class Kind:
    """A weight, its gradients in turn, and what is frozen of it. Each has a shape or a dtype of its own."""

    def __init__(self, value, gradients, mask=None):
        self.value = value
        self.gradients = gradients
        self.mask = every_other(value.shape) if mask is None else mask


def dense(shape, dtype="float32"):
    return Kind(numbers(shape, dtype), [numbers(shape, dtype) for _ in range(2)])


def looked_up(shape, *rows, dtype="int32"):
    """A table of which the rows `rows[k]` are looked up in step k."""
    return Kind(numbers(shape), [Rows(numbers((len(at),) + shape[1:]), at, dtype) for at in rows])


KINDS = {
    "rank 0": dense(()),
    "rank 0 float16": dense((), "float16"),
    "rank 0 complex64": dense((), "complex64"),
    "rank 1 bfloat16": dense((3,), BFLOAT16),
    "rank 2": dense((2, 3)),
    "rank 2 float16": dense((2, 3), "float16"),
    "rank 2 complex64": dense((2, 3), "complex64"),
    "rank 3 float64": dense((2, 3, 2), "float64"),
    "rank 4 bfloat16": dense((2, 1, 3, 2), BFLOAT16),
    "rank 5": dense((1, 2, 2, 1, 3)),
    "no element": dense((0,)),
    "no column float64": dense((2, 0), "float64"),
    "no gradient": Kind(numbers((4,)), [None]),
    "rows of a vector": looked_up((6,), [0, 1, 1, 1], [5]),
    "rows of a matrix": looked_up((7, 2), [0, 3, 0, 6], [2]),
    "rows of a cube": looked_up((5, 2, 2), [4, 4], [0, 1, 2, 3, 4, 4]),
    "rows, int64": looked_up((9, 2), [8, 8, 1], [0, 8], dtype="int64"),
    "rows, none at first": looked_up((3, 4), [], [0, 0]),
    "rows, no column": looked_up((4, 0), [1, 1], []),
}
ODD = np.array([np.nan, np.inf, -np.inf, 3e38, -0.0, 1.0, -1.0, 0.5], "f4")
KINDS["odd frozen values"] = Kind(ODD, [numbers((8,))], np.arange(8) < 5)
KINDS["odd frozen gradients"] = Kind(numbers((2, 4)), [ODD.reshape(2, 4)], (np.arange(8) < 5).reshape(2, 4))

#: Where some elements never move: rows that are not looked up, what is not finite, 1 - 0.999 in bfloat16.
PARTLY = [name for name, kind in KINDS.items() if isinstance(kind.gradients[0], Rows)]
PARTLY += ["no gradient", "odd frozen values", "odd frozen gradients", "rank 1 bfloat16", "rank 4 bfloat16"]

#: What some optimizers refuse, without us too.
OPTIONAL = [name for name in KINDS if "complex" in name or name == "rows, no column"]


def pytest_generate_tests(metafunc):
    loops = given.loops(every_option=metafunc.config.getoption("--every-option"))
    metafunc.parametrize("loop", [pytest.param(loop, id=name) for name, loop in sorted(loops.items())])


def refusal(loop, name):
    """What TensorFlow says where the optimizer does not step this kind of a weight, without us; None where it does."""
    try:
        with given.place_of_its_own():
            steps = loop({name: KINDS[name].value}, {name: KINDS[name].gradients[0]})
            steps.finish()
            steps.step(steps.gradients)
    except (tf.errors.OpError, TypeError, ValueError) as error:
        return given.refused(error)
    return None


def bytes_of(values):
    return {name: [array.tobytes() for array in arrays] for name, arrays in values.items()}


def test_frozen_elements_hold_and_the_others_train_as_in_the_oracle(loop, shows):
    """Frozen from the start, thawed, frozen warm, thawed again, two steps each."""
    refusals = {name: refusal(loop, name) for name in OPTIONAL}
    kinds = {name: kind for name, kind in KINDS.items() if not refusals.get(name)}
    weights = {name: kind.value for name, kind in kinds.items()}
    masks = {name: kind.mask for name, kind in kinds.items()}
    gradients = [{n: k.gradients[step % len(k.gradients)] for n, k in kinds.items()} for step in range(2)]
    spec = {name: mask for name, mask in masks.items() if mask.any()}
    with given.place_of_its_own():
        oracle = given.Oracle(loop(weights, gradients[0]), masks)
    steps = loop(weights, gradients[0])
    frozen = fc.freeze(steps.variables, spec, optimizer=steps.optimizer)
    steps.finish()
    frozen.rebase(steps.session)  # a weight without a gradient is in no step of a graph
    now = steps.values()
    moved = {name: np.zeros(value.shape, bool) for name, value in now.items()}
    for step in range(8):
        held = {} if step // 2 % 2 else masks
        if step in (2, 6):
            frozen.thaw(session=steps.session)
        elif step == 4:
            frozen.freeze(spec, session=steps.session)
        if step in (2, 4, 6):
            oracle.set_frozen(held)
        before = now
        for one in (oracle, steps):
            one.step(gradients[step % 2])
        now, expected = steps.values(), oracle.values()
        for name, value in now.items():
            mask = held.get(name, np.zeros(value.shape, bool))
            assert value[mask].tobytes() == before[name][mask].tobytes(), "{} moved at {}".format(name, step)
            assert value.tobytes() == expected[name].tobytes(), "{} is not the oracle's at {}".format(name, step)
            moved[name] |= value != before[name]
        if step in (1, 5):
            frozen.verify(session=steps.session)
            assert bytes_of(steps.slot_values()) == bytes_of(oracle.steps.slot_values())
    for name, found in moved.items():
        assert found.all() or name in PARTLY, "{} does not train".format(name)
    shows("{} kinds that each takes".format(len(KINDS) - len(OPTIONAL)), "equal")
    for name in OPTIONAL:
        shows(name, refusals[name] or "equal")
