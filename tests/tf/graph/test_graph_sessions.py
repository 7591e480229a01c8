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
    """Frozen in the first session: a second one is stale, for report() too, until sync(); then it holds there."""
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


def test_after_a_release_a_new_session_has_nothing_frozen(kind):
    """What was frozen when the graph was built trains in a session that is made after the release, and nobody tells."""
    program, frozen = graph_kit.frozen_program(kind, spec=MASKS)
    graph_kit.train(program, range(2))
    frozen.release(session=program.session)
    graph_kit.train(program, range(2, 4))  # the session that has run goes on, too
    for _ in range(2):
        in_session(program, second_session(program))
        before = program.values()
        graph_kit.train(program, range(3))
        graph_kit.assert_held_and_free_moved(before, program.values(), {})


def test_after_a_release_a_new_session_keeps_its_slots_when_frozen_again():
    """Elements that were released before the session began are not thawed in it: their slots go on."""
    program, frozen = graph_kit.frozen_program(spec={"kernel": MASKS["kernel"]})
    frozen.release(session=program.session)
    in_session(program, second_session(program))
    graph_kit.train(program, range(3))
    slots = [slot for slot, _ in program.slots(program.weights.variables["kernel"])]
    before = program.session.run(slots)
    again = fc.freeze(program.target, {"bias": MASKS["bias"]}, optimizer=program.optimizer, session=program.session)
    for old, now in zip(before, program.session.run(slots)):
        assert now.tobytes() == old.tobytes() and now.any()
    before = program.values()
    graph_kit.train(program, range(3, 5))
    graph_kit.assert_held_and_free_moved(before, program.values(), {"bias": MASKS["bias"]})
    again.verify(program.session)


def test_a_release_beside_another_freeze_leaves_new_sessions_to_it():
    """One of two is released: a new session is stale for the other one, as after any thaw."""
    program, frozen = graph_kit.frozen_program(spec=MASKS)
    other = fc.freeze(program.target, {"kernel": (0, 0)}, session=program.session)
    other.attach(program.optimizer)
    frozen.release(session=program.session)
    second = second_session(program)
    with pytest.raises(fc.StaleSession):
        other.verify(second)
    other.sync(second)
    in_session(program, second)
    mask = np.zeros(MASKS["kernel"].shape, bool)
    mask[0, 0] = True
    before = program.values()
    graph_kit.train(program, range(3))
    graph_kit.assert_held_and_free_moved(before, program.values(), {"kernel": mask})


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
    """After its session is closed a Frozen is thawed and released without it; the closed one itself is an error."""
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


def counts_in_plot(frozen, session):
    return frozen.plot(session=session).axes[0].get_title(loc="left").splitlines()[1]


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
    assert counts_in_plot(frozen, program.session) == counts_in_plot(frozen, None) == "3 of 12 frozen"
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
    assert counts_in_plot(frozen, program.session) == "3 of 12 frozen, 3 moved"
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
