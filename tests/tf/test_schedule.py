"""The same schedule as a callback and in a loop: the same elements are frozen, and every byte is the oracle's.

tests/core/test_schedule_run.py has what does not depend on TensorFlow, tests/tf/graph/test_schedule_in_sessions.py the hook.
"""

import pytest

import schedules
from schedules import BY_EPOCHS, BY_STEPS, STEPS, fit, loop, started


@pytest.mark.parametrize("name", sorted(schedules.loops()))
def test_in_a_loop(name):
    """run.step() after each step."""
    make = schedules.loops()[name]
    program, frozen = started(make)
    run = BY_STEPS.on(frozen, session=program.session)
    seen = loop(program, run, range(STEPS))
    schedules.assert_frozen(frozen, schedules.BesideTheOracle(seen, make(oracle=True)).loop())
    assert run.done["steps"] == STEPS and run.done["times"] == [2, 1, 1, 1, 2]


@pytest.mark.parametrize("name", sorted(schedules.fits()))
def test_as_a_callback(name, graph_as_written):
    """model.fit(callbacks=[run]), in two fits whose epochs both count from 0; evaluate and predict take it too."""
    make = schedules.fits()[name]
    program, frozen = started(make)
    run = BY_EPOCHS.on(frozen)
    seen = fit(program, run, 1) + fit(program, run, 1)
    schedules.assert_frozen(frozen, schedules.BesideTheOracle(seen, make(oracle=True)).fit())
    assert (run.done["steps"], run.done["epochs"], run.done["times"]) == (STEPS, 2, [2, 1, 1, 1, 2])
    program.model.evaluate(*schedules.data(), verbose=0, callbacks=[run])
    program.model.predict(schedules.data()[0], verbose=0, callbacks=[run])
    assert run.done["steps"] == STEPS
