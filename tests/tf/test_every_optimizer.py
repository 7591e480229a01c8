"""The three laws under every optimizer that the runtime at hand has.

Frozen from the start, thawed, frozen warm, and thawed again. `--every-option` adds each option of each class (tox
environments `*-sweep`).
"""

import numpy as np
import pytest

import freezecompat as fc
import optimizers
import runtimes
from programs import MASKS


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    cases = optimizers.cases(every_option=metafunc.config.getoption("--every-option"))
    metafunc.parametrize("case", [pytest.param(case, id=name) for name, case in sorted(cases.items())])


def test_frozen_elements_hold_and_the_others_train_as_in_the_oracle(case, graph_as_written):
    program, oracle = case.program(), case.program(oracle=True)
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    program.finish()
    oracle.set_frozen(MASKS)
    train(case, program, oracle, MASKS, range(0, 3))
    frozen.thaw(session=program.session)
    oracle.set_frozen({})
    train(case, program, oracle, {}, range(3, 6))
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    train(case, program, oracle, MASKS, range(6, 8))
    frozen.verify(session=program.session)
    frozen.thaw(session=program.session)
    oracle.set_frozen({})
    train(case, program, oracle, {}, range(8, 10))


def train(case, program, oracle, masks, steps):
    """Train both. Frozen elements keep their bytes, each other one moves in some step, and is the oracle's."""
    now = program.values()
    moved = {name: np.zeros(value.shape, bool) for name, value in now.items()}
    for step in steps:
        before = now
        program.train(step)
        oracle.train(step)
        now, expected = program.values(), oracle.values()
        for name, value in now.items():
            mask = masks.get(name, np.zeros(value.shape, bool))
            assert value[mask].tobytes() == before[name][mask].tobytes(), "{} moved at step {}".format(name, step)
            if not case.mixes_elements:
                assert value.tobytes() == expected[name].tobytes(), "{} is not the oracle's at {}".format(name, step)
            moved[name] |= value != before[name]
    for name, found in moved.items():
        free = ~masks.get(name, np.zeros(found.shape, bool))
        rows = slice(0, 6) if name == "table" else slice(None)  # row 6 of the table is in no batch
        assert found[rows][free[rows]].any(), "{} does not train".format(name)
        if not case.may_stand_still:
            assert found[rows][free[rows]].all(), "a free element of {} stands still".format(name)


def test_there_are_as_many_optimizers_as_the_runtime_lists():
    """The list is found, not written: it has at least those that every TensorFlow has."""
    classes = {name.split(" ")[-1].replace("legacy-", "") for name in optimizers.cases(every_option=False)}
    assert {"GradientDescent", "Momentum", "Adam", "Adagrad", "AdagradDA", "Adadelta", "RMSProp", "Ftrl"} <= classes
    if runtimes.EAGER or "tf.keras" in runtimes.keras_packages():
        assert {"SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl"} <= classes
