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

BOUND = 4  # ULPs of the weight's largest value after three steps; 2 is the most that was measured
IN_EACH_RUN = ("SGD", "Adam", "RMSprop")  # XLA has kernels for these in each Keras

pytestmark = pytest.mark.skipif(runtimes.TF1, reason="its tf.function has no jit_compile")


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        every_option = metafunc.config.getoption("--every-option")
        cases = optimizers.xla_cases(None if every_option else IN_EACH_RUN)
        metafunc.parametrize("case", [pytest.param(case, id=name) for name, case in sorted(cases.items())])


def test_frozen_elements_hold_and_the_others_are_near_the_oracle(case, shows, request):
    oracle = case.program(oracle=True)
    oracle.set_frozen(MASKS)
    try:
        train(oracle)
    except tf.errors.InvalidArgumentError as error:  # without a freeze
        assert not request.node.callspec.id.endswith(IN_EACH_RUN)
        shows("free elements, ULPs", given.refused(error))
        return
    program = case.program()
    before = program.values()
    fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    train(program)
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


def train(program):
    for step in range(3):
        program.train(step)
