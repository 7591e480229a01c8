"""A freeze is a state of each session: second, recovered and closed ones, references, and values set while frozen."""

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


def in_session(program, session):
    """The same program, run in another session."""
    program.session = session
    return program


def second_session(program):
    session = v1.Session(graph=program.session.graph)
    session.run(v1.global_variables_initializer())
    return session


# A second session -----------------------------------------------------------------------------------------------------


def test_a_second_session_is_stale_until_sync(kind):
    """Frozen in the first session: a second one is stale, for report() too, until sync() tells it; then it holds there."""
    program, frozen = graph_kit.frozen_program(kind)
    graph_kit.train(program, range(2))
    frozen.freeze(MASKS, session=program.session)
    first, second = program.session, second_session(program)
    with pytest.raises(fc.StaleSession, match=r"frozen\.sync\(session\)"):
        frozen.verify(second)
    assert any("stale" in note for note in frozen.report(second).notes)
    with pytest.raises(fc.StaleSession):
        frozen.verify(second)
    assert frozen.sync(second) is frozen
    in_session(program, second)
    before = program.values()
    graph_kit.train(program, range(5))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(second)
    frozen.verify(first)
    assert not frozen.report(second).notes


def test_a_second_session_that_was_not_told_is_as_when_the_graph_was_built():
    """Without sync the steps of a second session freeze what was frozen when the graph was built."""
    program, frozen = graph_kit.frozen_program(spec={"kernel": MASKS["kernel"]})
    frozen.freeze({"bias": MASKS["bias"]}, session=program.session)
    in_session(program, second_session(program))
    before = program.values()
    graph_kit.train(program, range(5))
    graph_kit.assert_held_and_free_moved(before, program.values(), {"kernel": MASKS["kernel"]})


def test_a_second_session_is_not_stale_when_nothing_changed(kind):
    """What was frozen when the graph was built is frozen in every session, with no sync."""
    program, frozen = graph_kit.frozen_program(kind, spec=MASKS)
    in_session(program, second_session(program))
    before = program.values()
    with pytest.raises(fc.NoReferenceYet):
        frozen.verify(program.session)
    graph_kit.train(program, range(5))
    frozen.verify(program.session)
    graph_kit.assert_held_and_free_moved(before, program.values())


def test_sync_gives_a_second_session_fresh_slots():
    """A session that was trained before it is told has warm slots: elements frozen and thawed get fresh ones there."""
    program, frozen = graph_kit.frozen_program()
    first, second = program.session, second_session(program)
    kernel, mask = program.weights.variables["kernel"], MASKS["kernel"]
    in_session(program, second)
    graph_kit.train(program, range(3))
    frozen.freeze(MASKS, session=first)
    frozen.sync(second)
    for name in program.optimizer.get_slot_names():
        slot = second.run(program.optimizer.get_slot(kernel, name))
        assert not slot[mask].any() and slot[~mask].all()
    before = program.values()
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(second)


def test_thaw_without_a_session_makes_every_session_stale():
    """thaw() and release() outside of a session record the state; sync tells each session of it."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    other = fc.freeze(program.target, {"mix": [(0, 0)]}, session=program.session)
    other.attach(program.optimizer)
    session = program.session
    graph_kit.train(program, range(2))
    frozen.thaw({"kernel": "all"})
    with pytest.raises(fc.StaleSession):
        frozen.verify(session)
    before = program.values()
    graph_kit.train(program, range(2, 4))
    graph_kit.assert_held_and_free_moved(before, program.values(), dict(MASKS, mix=mix_mask()))
    frozen.sync(session)
    frozen.verify(session)
    frozen.release()
    frozen.release()
    with pytest.raises(fc.Released):
        frozen.sync(session)
    other.sync(session)
    before = program.values()
    graph_kit.train(program, range(4, 6))
    graph_kit.assert_held_and_free_moved(before, program.values(), {"mix": mix_mask()})


def mix_mask():
    mask = np.zeros((3, 2), bool)
    mask[0, 0] = True
    return mask


def test_release_in_a_session_after_one_without():
    """release() is idempotent, and called again with a session it tells that one."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    graph_kit.train(program, range(2))
    frozen.release()
    frozen.release(session=program.session)
    before = program.values()
    graph_kit.train(program, range(2, 4))
    graph_kit.assert_held_and_free_moved(before, program.values(), {})


# Which session --------------------------------------------------------------------------------------------------------


def test_freeze_of_a_built_graph_needs_a_session():
    """Once the train op is built a freeze without a session is refused, and nothing has changed."""
    program, frozen = graph_kit.frozen_program()
    for call in (
        lambda: frozen.freeze(MASKS),
        lambda: fc.freeze(program.target, MASKS, optimizer=program.optimizer),
    ):
        with pytest.raises(ValueError, match="pass session="):
            call()
    assert frozen.num_frozen == 0 and not frozen.masks
    before = program.values()
    graph_kit.train(program, range(4))
    graph_kit.assert_held_and_free_moved(before, program.values(), {})
    for call in (frozen.verify, frozen.sync, frozen.rebase):
        with pytest.raises(ValueError, match="pass session="):
            call()
    assert "no session" in str(frozen.report())


def test_the_default_session_is_used():
    """Inside `with session:` no session= is needed anywhere."""
    program, frozen = graph_kit.frozen_program()
    with program.session as session:
        graph_kit.train(program, range(2))
        frozen.freeze(MASKS)
        before = program.values()
        graph_kit.train(program, range(2, 5))
        graph_kit.assert_held_and_free_moved(before, program.values())
        frozen.verify()
        frozen.rebase().sync()
        assert not frozen.report().notes
        frozen.thaw({"kernel": "all"})
        frozen.verify()
        frozen.release()
        before = program.values()
        graph_kit.train(program, range(5, 8))
        graph_kit.assert_held_and_free_moved(before, program.values(), {})
        assert v1.get_default_session() is session


def test_a_session_of_another_graph_is_refused():
    """session= of another graph is a ValueError, before anything is changed; such a default session is not taken."""
    program, frozen = graph_kit.frozen_program()
    with tf.Graph().as_default(), v1.Session() as foreign:
        for call in (frozen.freeze, frozen.thaw):
            with pytest.raises(ValueError, match="another graph"):
                call(MASKS, session=foreign)
        for call in (frozen.verify, frozen.sync, frozen.rebase, frozen.report, frozen.release):
            with pytest.raises(ValueError, match="another graph"):
                call(session=foreign)
        with pytest.raises(ValueError, match="pass session="):
            frozen.freeze(MASKS)
    assert frozen.num_frozen == 0
    frozen.freeze(MASKS, session=program.session).verify(program.session)


def test_without_a_target_the_graphs_trainable_variables():
    """target=None with an optimizer means the trainable variables of the default graph."""
    program = programs.Graph(graph_kit.adam())
    v1.Variable(1.0, trainable=False, name="fixed")
    frozen = fc.freeze(None, MASKS, optimizer=program.optimizer)
    assert [row.address for row in fc.list_weights(None)] == list(programs.VALUES)
    assert list(frozen.masks) == [name for name in programs.VALUES if name in MASKS]
    program.finish()
    before = program.values()
    graph_kit.train(program, range(4))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(program.session)
    with pytest.raises(ValueError, match="optimizer="):
        fc.freeze(None, MASKS)


def test_a_closed_session_is_no_obstacle():
    """After its session is closed the Frozen can be thawed and released without it; the closed one itself is an error."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    graph_kit.train(program, range(2))
    program.session.close()
    for call in (frozen.verify, frozen.rebase, lambda session: frozen.freeze({"mix": "all"}, session=session)):
        with pytest.raises((RuntimeError, ValueError), match="closed"):
            call(session=program.session)
    frozen.thaw({"kernel": "all"})
    in_session(program, second_session(program))
    frozen.sync(program.session)
    before = program.values()
    graph_kit.train(program, range(3))
    graph_kit.assert_held_and_free_moved(before, program.values(), {"bias": MASKS["bias"], "table": MASKS["table"]})
    frozen.verify(program.session)
    frozen.release()


def test_leaving_the_with_block_never_hides_the_bodys_error():
    """An error of the body comes out of the block as it is, the session being closed or of any state."""
    program = programs.Graph(graph_kit.adam())
    with pytest.raises(ZeroDivisionError):
        with program.session:
            with fc.freeze(program.target, MASKS, optimizer=program.optimizer) as frozen:
                program.finish()
                graph_kit.train(program, range(2))
                program.session.close()  # it can't be told of the release
                1 / 0
    with pytest.raises(fc.Released):
        frozen.verify(program.session)
    assert not vars(program.optimizer).get("apply_gradients")


# Reference ------------------------------------------------------------------------------------------------------------


def test_the_reference_is_what_the_first_step_finds(kind):
    """Frozen before there are values: NoReferenceYet until the first step, and then what that step found."""
    program = kind(graph_kit.adam())
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    with pytest.raises(fc.NoReferenceYet):
        frozen.verify(program.session)
    program.finish()
    with pytest.raises(fc.NoReferenceYet, match="rebase"):
        frozen.verify(program.session)
    assert frozen.report(program.session).to_dict()["weights"][0]["moved"] is None
    kernel = program.weights.variables["kernel"]
    start = programs.VALUES["kernel"] + 1
    program.load(kernel, start)
    graph_kit.train(program, range(3))
    frozen.verify(program.session)
    assert frozen.report(program.session).to_dict()["weights"][0]["moved"] == 0
    program.load(kernel, np.zeros_like(start))
    with pytest.raises(fc.FrozenWeightsMoved) as caught:
        frozen.verify(program.session)
    assert (caught.value.weight, caught.value.element) == ("kernel", (0, 0))
    assert caught.value.before == start[0, 0] and caught.value.now == 0
    assert len(caught.value.moved) == MASKS["kernel"].sum()


def test_the_reference_without_a_verify_in_between(kind):
    """What moved after the first step is told, although verify() was never asked before."""
    program, frozen = graph_kit.frozen_program(kind, spec=MASKS)
    graph_kit.train(program, range(2))
    program.load(program.weights.variables["bias"], programs.VALUES["bias"] + 1)
    with pytest.raises(fc.FrozenWeightsMoved) as caught:
        frozen.verify(program.session)
    assert [(one.weight, one.element) for one in caught.value.moved] == [("bias", (1,))]
    assert caught.value.before == programs.VALUES["bias"][1]


def test_the_reference_is_taken_at_freeze_where_there_are_values():
    """In a session that has values the reference is what was there at freeze, not at the first step."""
    program, frozen = graph_kit.frozen_program()
    frozen.freeze(MASKS, session=program.session)
    frozen.verify(program.session)
    program.load(program.weights.variables["bias"], programs.VALUES["bias"] + 1)
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify(program.session)
    graph_kit.train(program, range(2))
    with pytest.raises(fc.FrozenWeightsMoved) as caught:
        frozen.verify(program.session)
    assert caught.value.before == programs.VALUES["bias"][1]


def test_verify_before_anything_is_attached():
    """Nothing holds the elements: verify() raises NotAttached, and the report says so."""
    program = programs.Graph(graph_kit.adam())
    program.session.run(v1.global_variables_initializer())
    frozen = fc.freeze(program.target, MASKS, session=program.session)
    assert "NOT ATTACHED" in repr(frozen) and "NOT ATTACHED" in str(frozen.report(program.session))
    with pytest.raises(fc.NotAttached):
        frozen.verify(program.session)
    frozen.attach(program.optimizer)
    program.finish()
    before = program.values()
    graph_kit.train(program, range(3))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(program.session)


def test_a_reference_elsewhere_is_a_sessions_own():
    """Each session has its own reference: other values in another session are not 'moved'."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    first, second = program.session, second_session(program)
    graph_kit.train(program, range(2))
    in_session(program, second)
    program.load(program.weights.variables["kernel"], programs.VALUES["kernel"] * 2)
    graph_kit.train(program, range(2))
    frozen.verify(first)
    frozen.verify(second)


# Values set while frozen ----------------------------------------------------------------------------------------------


def test_a_value_assigned_in_a_session_is_held(kind):
    """The assigned value is held from then on; verify() tells until rebase()."""
    program, frozen = graph_kit.frozen_program(kind, spec=MASKS)
    graph_kit.train(program, range(3))
    frozen.verify(program.session)
    program.load(program.weights.variables["kernel"], programs.VALUES["kernel"] + 1)
    before = program.values()
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    assert (program.values()["kernel"] == programs.VALUES["kernel"] + 1)[MASKS["kernel"]].all()
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify(program.session)
    assert frozen.report(program.session).to_dict()["weights"][0]["moved"] == MASKS["kernel"].sum()
    assert frozen.rebase(program.session) is frozen
    frozen.verify(program.session)


def test_a_restored_value_is_held(kind, tmp_path):
    """Saver.restore while frozen: what was restored is held, the old value never comes back, verify() tells."""
    program, frozen = graph_kit.frozen_program(kind)
    saver = v1.train.Saver()
    graph_kit.train(program, range(2))
    path = saver.save(program.session, str(tmp_path / "model"))
    saved = program.values()
    graph_kit.train(program, range(2, 5))
    frozen.freeze(MASKS, session=program.session)
    graph_kit.train(program, range(5, 7))
    saver.restore(program.session, path)
    graph_kit.train(program, range(7, 10))
    graph_kit.assert_held_and_free_moved(saved, program.values())
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify(program.session)
    frozen.rebase(program.session).verify(program.session)


def test_a_checkpoint_restored_into_a_second_session(tmp_path):
    """Warm slots come back with a checkpoint: after sync the elements hold there from the first step on."""
    program, frozen = graph_kit.frozen_program()
    saver = v1.train.Saver()
    graph_kit.train(program, range(3))
    path = saver.save(program.session, str(tmp_path / "model"))
    frozen.freeze(MASKS, session=program.session)
    in_session(program, v1.Session(graph=program.session.graph))
    saver.restore(program.session, path)
    frozen.sync(program.session)
    before = program.values()
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    frozen.verify(program.session)


# A graph that is built already ----------------------------------------------------------------------------------------


def test_an_update_by_an_unattached_optimizer_refuses_the_freeze(kind):
    """minimize before freeze: GraphAlreadyBuilt says what to do, optimizer and graph stay as they were."""
    program = kind(graph_kit.adam())
    program.finish()
    count = len(v1.get_default_graph().get_operations())
    with pytest.raises(fc.GraphAlreadyBuilt, match=r"FreezeSpec\.empty\(\)") as caught:
        fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    assert isinstance(caught.value, RuntimeError)
    assert not {"apply_gradients", "compute_gradients", "_finish"} & set(vars(program.optimizer))
    assert len(v1.get_default_graph().get_operations()) == count


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_an_optimizer_beside_the_attached_one_refuses_the_freeze(optimizer):
    """One attached optimizer is not enough where another one, unattached, updates the weight too."""
    program, frozen = graph_kit.frozen_program()
    graph_kit.OPTIMIZERS[optimizer]().minimize(program.loss)
    with pytest.raises(fc.GraphAlreadyBuilt, match="kernel"):
        frozen.freeze({"kernel": MASKS["kernel"]}, session=program.session)
    assert frozen.num_frozen == 0


def test_a_sparse_update_by_an_unattached_optimizer_refuses_the_freeze(kind):
    """The scatter ops of a look-up's update count as well."""
    program = kind(graph_kit.OPTIMIZERS["sgd"]())
    program.finish()
    with pytest.raises(fc.GraphAlreadyBuilt, match="table"):
        fc.freeze(program.target, {"table": (0, 0)}, optimizer=program.optimizer, session=program.session)


def test_other_weights_of_a_built_graph_can_be_frozen():
    """Only the weights that the spec names need to be reachable."""
    a, b = v1.Variable([1.0, 2.0], name="a"), v1.Variable([1.0, 2.0], name="b")
    graph_kit.adam().minimize(tf.reduce_sum(a), var_list=[a])
    optimizer = graph_kit.adam()
    frozen = fc.freeze([a, b], {"b": (0,)}, optimizer=optimizer)
    step = optimizer.minimize(tf.reduce_sum(b), var_list=[b])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
        after = session.run(b)
        frozen.verify()
    assert after[0] == 1.0 and after[1] != 2.0


def test_an_optimizer_of_a_released_frozen_is_used_again(kind):
    """Its updates read our mask still: a new freeze is not refused, and acts."""
    program, frozen = graph_kit.frozen_program(kind)
    graph_kit.train(program, range(2))
    frozen.release(session=program.session)
    graph_kit.train(program, range(2, 4))
    again = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    before = program.values()
    graph_kit.train(program, range(4, 7))
    graph_kit.assert_held_and_free_moved(before, program.values())
    again.verify(program.session)
    kernel, mask = program.weights.variables["kernel"], MASKS["kernel"]
    for name in program.optimizer.get_slot_names():
        slot = program.session.run(program.optimizer.get_slot(kernel, name))
        assert not slot[mask].any() and slot[~mask].all()


# MonitoredTrainingSession ---------------------------------------------------------------------------------------------


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
