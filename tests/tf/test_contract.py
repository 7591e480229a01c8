"""The three laws, on every runtime at hand: exact, equivalent to the oracle, and with the free elements moving."""

import numpy as np
import pytest

import freezecompat as fc
import programs
import runtimes
from programs import MASKS

RUNTIMES = runtimes.runtimes()


pytestmark = pytest.mark.usefixtures("graph_as_written")


@pytest.fixture(params=sorted(RUNTIMES))
def make(request):
    return RUNTIMES[request.param]


def compare(program, oracle, masks, steps, moved_since):
    """Train both; after each step frozen elements hold their bytes, and all others are those of the oracle."""
    held = program.values()
    for step in steps:
        program.train(step)
        oracle.train(step)
        now, expected = program.values(), oracle.values()
        for name in programs.VALUES:
            mask = masks.get(name, np.zeros(programs.VALUES[name].shape, bool))
            assert now[name][mask].tobytes() == held[name][mask].tobytes(), "{} moved at step {}".format(name, step)
            assert now[name].tobytes() == expected[name].tobytes(), "{} is not the oracle's at {}".format(name, step)
    for name, before in moved_since.items():
        free = ~masks.get(name, np.zeros(before.shape, bool))
        rows = slice(0, 6) if name == "table" else slice(None)  # row 6 of the table is in no batch
        assert (now[name] != before)[rows][free[rows]].all(), "a free element of {} stands still".format(name)


def test_frozen_from_the_first_step(make):
    program, oracle = make(), make(oracle=True)
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    program.finish()
    oracle.set_frozen(MASKS)
    compare(program, oracle, MASKS, range(5), program.values())
    frozen.verify(session=program.session)


def test_frozen_and_thawed_in_the_middle_of_training(make):
    """Warm slots: an element stands still from the very next step, and starts again without a jump."""
    program, oracle = make(), make(oracle=True)
    frozen = fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=program.optimizer, session=program.session)
    program.finish()
    compare(program, oracle, {}, range(3), program.values())
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    compare(program, oracle, MASKS, range(3, 6), program.values())
    frozen.verify(session=program.session)
    frozen.thaw({"kernel": MASKS["kernel"]}, session=program.session)
    rest = {name: mask for name, mask in MASKS.items() if name != "kernel"}
    oracle.set_frozen(rest)
    compare(program, oracle, rest, range(6, 8), program.values())
    frozen.verify(session=program.session)
    frozen.release(session=program.session)
    oracle.set_frozen({})
    compare(program, oracle, {}, range(8, 10), program.values())
