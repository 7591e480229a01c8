"""Under XLA: frozen elements hold their bytes, the free ones are near the oracle's.

Not bit for bit: XLA compiles the oracle, another program, to other arithmetic, which may fuse a product and a sum.
"""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import given
import optimizers
import runtimes
from programs import MASKS

BOUND = 4  # ULPs of the weight's largest value after three steps; docs/guarantees.md has what was measured
IN_EACH_RUN = ("SGD", "Adam", "RMSprop")

pytestmark = pytest.mark.skipif(runtimes.TF1, reason="its tf.function has no jit_compile")


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        every_option = metafunc.config.getoption("--every-option")
        cases = optimizers.xla_cases(None if every_option else IN_EACH_RUN)
        metafunc.parametrize("case", [pytest.param(case, id=name) for name, case in sorted(cases.items())])


def test_frozen_elements_hold_and_the_others_are_near_the_oracle(case, shows):
    refusal = refused_without_us(case)
    if refusal:
        shows("free elements, ULPs", refusal)
        return
    program, oracle = case.program(), case.program(oracle=True)
    before = program.values()
    fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    oracle.set_frozen(MASKS)
    for step in range(3):
        program.train(step)
        oracle.train(step)
    far = 0.0
    expected = oracle.values()
    for name, value in program.values().items():
        mask = MASKS.get(name, np.zeros(value.shape, bool))
        assert value[mask].tobytes() == before[name][mask].tobytes()
        assert (value != before[name])[~mask].any(), "{} does not train".format(name)
        far = max(far, ulps_of_the_largest(value, expected[name]))
    assert far <= BOUND
    shows("free elements, ULPs", "equal" if far == 0 else "{:.1f}".format(far))


def ulps_of_the_largest(value, expected):
    distance = np.abs(value.astype("f8") - expected.astype("f8"))
    return float((distance / np.spacing(np.abs(expected).max())).max())


def refused_without_us(case):
    """What TensorFlow says where XLA has no kernel for an optimizer; None where it has."""
    try:
        case.program().train(0)
    except tf.errors.InvalidArgumentError as error:
        return given.refused(error)
    return None
