"""A training with a schedule that is stopped and made anew: each byte is that of the uninterrupted one."""

import pytest

import freezecompat as fc
import schedules
from programs import MASKS
from schedules import BY_STEPS, STEPS, fit, loop, same, started, state


@pytest.mark.parametrize("name", sorted(schedules.loops()))
def test_in_a_loop(name, tmp_path):
    """After 7 steps, with a checkpoint and the file: weights, slots, counts and frozen elements, then and after 10 steps."""
    make = schedules.loops()[name]
    whole, frozen = started(make)
    run = BY_STEPS.on(frozen)
    loop(whole, run, range(7))
    frozen.save(tmp_path / "frozen.npz")
    checkpoint = state(whole)
    loop(whole, run, range(7, STEPS))

    program = make()
    schedules.load(program, checkpoint)
    resumed = fc.restore(program.target, tmp_path / "frozen.npz", optimizer=program.optimizer)
    again = BY_STEPS.on(resumed)
    assert same(state(program), checkpoint) and again.done["steps"] == 7
    loop(program, again, range(7, STEPS))
    assert same(state(program), state(whole)) and again.done == run.done
    schedules.assert_frozen(resumed, dict(frozen.masks))


@pytest.mark.parametrize("name", sorted(schedules.fits()))
@pytest.mark.parametrize("known_by", ["the file", "the optimizer's count"])
def test_as_a_callback(name, known_by, tmp_path):
    """Between two epochs; without the file, what depends on no values is known from the count of the optimizer."""
    make = schedules.fits()[name]
    schedule = (
        fc.Schedule().thaw({"table": "all"}, step=3).freeze({"mix": "all"}, epoch=1).thaw({"kernel": (0, 0)}, step=7)
    )
    whole, frozen = started(make)
    fit(whole, schedule.on(frozen), 1)
    frozen.save(tmp_path / "frozen.npz")
    checkpoint = state(whole)
    fit(whole, schedule.on(frozen), 2, initial_epoch=1)

    program = make()
    if known_by == "the file":
        schedules.load(program, checkpoint)
        resumed = fc.restore(program.target, tmp_path / "frozen.npz")
    else:
        resumed = fc.freeze(program.target, MASKS)
        schedules.load(program, checkpoint)
    fit(program, schedule.on(resumed), 2, initial_epoch=1)
    assert same(state(program), state(whole))
    schedules.assert_frozen(resumed, dict(frozen.masks))
