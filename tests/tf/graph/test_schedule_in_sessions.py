"""A schedule as a SessionRunHook, and in sessions that are recovered and restored."""

import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import schedules
from graph_kit import KINDS, MASKS, v1
from programs import BATCHES
from schedules import BY_STEPS, EPOCH, STEPS, same


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


def built(kind=KINDS["resource"], path=None):
    """A program, its train op built, without a session of its own."""
    program = kind(schedules.rmsprop())
    if path is None:
        frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    else:
        frozen = fc.restore(program.target, path, optimizer=program.optimizer)
    program.global_step = v1.train.get_or_create_global_step()
    program.train_op = program.minimize()
    return program, frozen


class See(v1.train.SessionRunHook):
    """The values after each step; it stands after the schedule."""

    def __init__(self, program):
        self.program, self.seen = program, []

    def after_run(self, context, values):
        self.seen.append(self.program.weights.values(context.session.run))


def monitored(program, run, steps, directory=None, hooks=(), save_every=1000, at_end=lambda session: None, batches=1):
    """Train in a MonitoredTrainingSession; the values after each step, and every variable's at the end.

    It repeats a run that failed with what that one was fed, which is right where all batches are the same.
    """
    see = See(program)
    with v1.train.MonitoredTrainingSession(
        hooks=[run, see] + list(hooks),
        checkpoint_dir=directory,
        save_checkpoint_steps=save_every,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        while not session.should_stop() and len(see.seen) < steps:
            step = int(session.run_step_fn(lambda step_context: step_context.session.run(program.global_step)))
            inputs, y = BATCHES[step % batches]
            session.run(program.train_op, {program.inputs: inputs, program.y: y})
        at_end(session)
        return see.seen, session.run_step_fn(lambda step_context: step_context.session.run(v1.global_variables()))


@pytest.fixture(scope="module")
def uninterrupted():
    """Every variable at the end, and the masks."""
    with v1.Graph().as_default():
        program, frozen = built()
        _, state = monitored(program, BY_STEPS.on(frozen), STEPS)
        return state, dict(frozen.masks)


def test_as_a_hook(kind):
    """In a MonitoredTrainingSession, its graph finalized: the same elements, and every byte the oracle's."""
    program, frozen = built(kind)
    run = BY_STEPS.on(frozen)
    seen, _ = monitored(program, run, STEPS, batches=EPOCH)
    masks = schedules.BesideTheOracle(seen, kind(schedules.rmsprop(), oracle=True)).loop()
    schedules.assert_frozen(frozen, masks)
    assert run.done["steps"] == STEPS and run.done["times"] == [2, 1, 1, 1, 2]


def test_resumed_with_a_checkpoint(uninterrupted, tmp_path):
    """Stopped after 7 steps; a new graph restores the checkpoint: weights, slots and counts are those of an uninterrupted run."""
    wanted, masks = uninterrupted
    program, frozen = built()
    path = tmp_path / "frozen.npz"
    monitored(program, BY_STEPS.on(frozen), 7, str(tmp_path), at_end=lambda session: frozen.save(path, session=session))
    v1.reset_default_graph()
    program, frozen = built(path=path)
    run = BY_STEPS.on(frozen)
    seen, state = monitored(program, run, STEPS - 7, str(tmp_path))
    assert len(seen) == 3 and same(state, wanted) and run.done["steps"] == STEPS
    schedules.assert_frozen(frozen, masks)


def test_one_session_after_the_other(uninterrupted, tmp_path):
    """Of one graph and one run: each is told what is frozen, and verify() knows what it held; slots are the checkpoint's."""
    program, frozen = built()
    run = BY_STEPS.on(frozen)
    monitored(program, run, 7, str(tmp_path))
    monitored(program, run, 0, str(tmp_path), at_end=lambda session: frozen.verify(session))
    _, state = monitored(program, run, STEPS - 7, str(tmp_path))
    assert same(state, uninterrupted[0])


def test_a_recovered_session_goes_back(uninterrupted, tmp_path):
    """After an AbortedError the session is made anew from the checkpoint of step 6; what came later is undone and comes again."""
    wanted, masks = uninterrupted
    program, frozen = built()
    failed = []

    class Fail(v1.train.SessionRunHook):
        def before_run(self, context):
            if not failed and context.session.run(program.global_step) == 8:
                failed.append(len(frozen.masks))
                raise tf.errors.AbortedError(None, None, "the worker is gone")

    run = BY_STEPS.on(frozen)
    seen, state = monitored(program, run, STEPS + 2, str(tmp_path), [Fail()], save_every=3)
    assert failed and len(seen) == STEPS + 2 and same(state, wanted)
    schedules.assert_frozen(frozen, masks)


def test_in_a_session_of_ones_own_after_a_restore(tmp_path):
    """Saver.restore, then schedule.on: what depends on no values is known from global_step, and no slot is touched."""
    schedule = (
        fc.Schedule().thaw({"table": "all"}, step=2).freeze({"mix": "all"}, every_steps=3).thaw({"mix": (0, 0)}, step=4)
    )
    whole, frozen = graph_kit.frozen_program(optimizer=schedules.rmsprop, spec=MASKS)
    run = schedule.on(frozen, session=whole.session)
    for step in range(5):
        whole.train(step)
        run.step(session=whole.session)
    checkpoint = v1.train.Saver().save(whole.session, str(tmp_path / "model"))
    saved = whole.session.run(v1.global_variables())
    whole.session.close()
    v1.reset_default_graph()
    program, again = graph_kit.frozen_program(optimizer=schedules.rmsprop, spec=MASKS)
    v1.train.Saver().restore(program.session, checkpoint)
    resumed = schedule.on(again, session=program.session)
    assert same(program.session.run(v1.global_variables()), saved) and resumed.done["steps"] == 5
    schedules.assert_frozen(again, dict(frozen.masks))
    before = program.values()
    program.train(0)
    assert (program.values()["mix"][0, 0] != before["mix"][0, 0]) and again.verify(program.session) is None


def test_a_hook_needs_a_count():
    program = graph_kit.KINDS["resource"](schedules.rmsprop())
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer)
    with pytest.raises(ValueError, match=r"tf\.train\.get_or_create_global_step\(\)"):
        BY_STEPS.on(frozen).begin()
