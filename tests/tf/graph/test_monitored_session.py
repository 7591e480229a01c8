"""MonitoredTrainingSession: its graph finalized, its sessions created and recovered for the user."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
from graph_kit import KINDS, MASKS, v1


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


class _Steps(v1.train.SessionRunHook):
    """Sees the weights after every step, and may freeze, thaw or break down before one."""

    def __init__(self, program, before_step):
        self.program, self.before_step, self.seen, self.k = program, before_step, [], 0

    def before_run(self, context):
        self.k += 1
        self.before_step(self.k - 1, context.session)
        return v1.train.SessionRunArgs(dict(self.program.weights.variables))

    def after_run(self, context, values):
        self.seen.append(context.session.run(dict(self.program.weights.variables)))


def _monitored(program, frozen, steps, directory=None, before_step=lambda k, session: None):
    hook = _Steps(program, before_step)
    with v1.train.MonitoredTrainingSession(
        hooks=[frozen.session_hook(), hook],
        checkpoint_dir=directory,
        save_checkpoint_steps=2,
        save_summaries_steps=None,
        log_step_count_steps=None,
    ) as session:
        for step in steps:
            inputs, y = programs.BATCHES[step]
            session.run(program.train_op, {program.inputs: inputs, program.y: y})
        frozen.verify(session)
        return hook.seen


def _built(kind, spec=None):
    program = kind(graph_kit.adam())
    spec = fc.FreezeSpec.empty() if spec is None else spec
    frozen = fc.freeze(program.target, spec, optimizer=program.optimizer)
    program.global_step = v1.train.get_or_create_global_step()
    program.train_op = program.minimize()
    return program, frozen


def _assert_all_steps(seen, masks=MASKS):
    """Nothing frozen moves in any of the steps; what is free moves over them all, and dense weights in each."""
    for before, after in zip(seen, seen[1:]):
        for name, mask in masks.items():
            assert after[name][mask].tobytes() == before[name][mask].tobytes(), name
        for name in ("kernel", "mix"):
            free = ~masks.get(name, np.zeros(after[name].shape, bool))
            assert (after[name] != before[name])[free].all(), name
    graph_kit.assert_held_and_free_moved(seen[0], seen[-1], masks)


def test_monitored_session_frozen_from_the_start(kind):
    """In a MonitoredTrainingSession, its graph finalized, every step holds; hooks see held values."""
    program, frozen = _built(kind, MASKS)
    seen = _monitored(program, frozen, range(5))
    _assert_all_steps([programs.VALUES] + seen)
    assert len(seen) == 5


def test_monitored_session_frozen_and_thawed_from_a_hook():
    """A freeze or thaw from before_run acts on that very step; the MonitoredSession itself is taken as session= too."""
    program, frozen = _built(programs.Graph)

    def change(k, session):
        if k == 2:
            frozen.freeze(MASKS, session=session)
        if k == 5:
            frozen.thaw({"kernel": "all"}, session=session)

    seen = _monitored(program, frozen, range(8), before_step=change)
    assert (seen[1]["kernel"] != seen[0]["kernel"]).all()
    _assert_all_steps(seen[1:5])
    _assert_all_steps(seen[4:], {"bias": MASKS["bias"], "table": MASKS["table"]})


def test_a_session_created_from_a_checkpoint_is_brought_by_the_hook(tmp_path):
    """A second MonitoredTrainingSession of a changed freeze is told by the hook, slots and all."""
    program, frozen = _built(programs.Graph)
    _monitored(program, frozen, range(4), str(tmp_path))
    frozen.freeze(MASKS, session=v1.Session(graph=v1.get_default_graph()))
    first = []

    def look(k, session):
        if k == 0:
            first.append(session.run(dict(program.weights.variables)))

    seen = _monitored(program, frozen, range(4, 8), str(tmp_path), look)
    _assert_all_steps(first + seen)
    assert (first[0]["kernel"] != programs.VALUES["kernel"]).all()  # it came from the checkpoint


def test_a_recovered_session_is_brought_by_the_hook(tmp_path):
    """After an AbortedError the session is made anew from the checkpoint, and the hook tells it of the freeze."""
    program, frozen = _built(programs.Graph)
    sessions = []

    def fail(k, session):
        if all(one is not session for one in sessions):
            sessions.append(session)
        if k == 2:
            frozen.freeze(MASKS, session=session)
        if k == 5:
            raise tf.errors.AbortedError(None, None, "the worker is gone")

    seen = _monitored(program, frozen, range(9), str(tmp_path), fail)
    assert len(sessions) == 2
    _assert_all_steps(seen[1:5])
    _assert_all_steps(seen[5:])
    assert seen[5]["kernel"][MASKS["kernel"]].tobytes() == seen[4]["kernel"][MASKS["kernel"]].tobytes()
