"""`hold_after`: a hand-written update in a TF1 graph, held by an op to run in its place."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
from graph_kit import KINDS, MASKS, v1

RATE = 0.1


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


def by_hand(cls):
    """The program with its update written by hand; `frozen` holds it."""

    class ByHand(cls):
        frozen = None

        def __init__(self, oracle=False):
            super().__init__(None, oracle)

        def slots(self, variable):
            return []

        def minimize(self):
            variables = list(self.weights.variables.values())
            gradients = [tf.convert_to_tensor(g) for g in v1.gradients(self.loss, variables)]
            with tf.control_dependencies(gradients):
                updates = [v1.assign_sub(v, RATE * g) for v, g in zip(variables, gradients)]
                updates.append(v1.assign_add(self.global_step, 1))
            self.bare = tf.group(*updates)
            return self.bare if self.frozen is None else self.frozen.hold_after(self.bare)

    return ByHand


def test_a_hand_written_update_holds_in_200_of_200_steps(kind):
    """Every element has the oracle's bytes in each of 200 steps; verify() is silent, the step counts once."""
    program, oracle = by_hand(kind)(), by_hand(kind)(oracle=True)
    program.frozen = fc.freeze(program.target, MASKS)
    program.finish()
    oracle.set_frozen(MASKS)
    assert "hand-written" in repr(program.frozen)
    graph_kit.train_beside(program, oracle, range(200))
    program.frozen.verify(program.session)
    assert program.session.run(program.global_step) == 200


def test_frozen_and_thawed_in_the_middle(kind):
    """Later freezes and thaws reach the held op, whose graph may be finalized by then."""
    program, oracle = by_hand(kind)(), by_hand(kind)(oracle=True)
    program.frozen = fc.freeze(program.target, fc.FreezeSpec.empty())
    program.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    program.frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    program.session.graph.finalize()
    graph_kit.train_beside(program, oracle, range(2, 5))
    program.frozen.verify(program.session)
    program.frozen.thaw(session=program.session)
    before = program.values()
    graph_kit.train(program, range(5, 7))
    graph_kit.assert_held_and_free_moved(before, program.values(), {})


def test_the_bare_op_alone_is_not_held():
    """The op to run is the one that comes back: the update alone moves what is frozen, and verify() tells."""
    program = by_hand(programs.Graph)()
    program.frozen = fc.freeze(program.target, MASKS)
    program.finish()
    program.train(0)
    program.frozen.verify(program.session)
    program.train_op = program.bare
    program.train(1)
    with pytest.raises(fc.FrozenWeightsMoved):
        program.frozen.verify(program.session)


def test_what_a_train_op_may_be(kind):
    """An operation, and the tensor or variable that an assign returns, are all held."""
    weight = v1.Variable([1.0, 2.0], use_resource=kind is programs.Graph)
    frozen = fc.freeze([weight], [("#0", (0,))])
    held = frozen.hold_after(v1.assign_sub(weight, [1.0, 1.0]))
    assert isinstance(held, tf.Operation)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(held)
        assert session.run(weight).tolist() == [1.0, 1.0]


def test_an_update_of_an_unattached_optimizer():
    """A train op that minimize built before the freeze can be held as well, warm momentum included."""
    weight = v1.Variable([1.0, 2.0], name="w")
    train_op = v1.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(weight))
    frozen = fc.freeze([weight], fc.FreezeSpec.empty())
    held = frozen.hold_after(train_op)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(held)
        before = session.run(weight)
        frozen.freeze({"w": (0,)})
        for _ in range(3):
            session.run(held)
        after = session.run(weight)
        frozen.verify()
    assert after[0].tobytes() == before[0].tobytes() and after[1] != before[1]


def test_after_a_run_of_a_session_it_raises(kind):
    """A control edge added after a Session.run would be ignored in silence: GraphAlreadyBuilt."""
    program = by_hand(kind)()
    frozen = fc.freeze(program.target, MASKS)
    program.finish()
    graph_kit.train(program, [0])
    with pytest.raises(fc.GraphAlreadyBuilt, match=r"first Session\.run"):
        frozen.hold_after(program.train_op)
    assert "NOT ATTACHED" in repr(frozen)


def test_after_a_run_of_the_initializer_alone_it_raises(kind):
    """Any run of a session counts: the initializer's too."""
    program = by_hand(kind)()
    frozen = fc.freeze(program.target, MASKS)
    program.finish()
    with pytest.raises(fc.GraphAlreadyBuilt):
        frozen.hold_after(program.train_op)


def test_after_a_run_of_anything_else_it_raises(kind):
    """A session that ran an unrelated op, its variables not even initialised, ignores a new edge just as well."""
    program = by_hand(kind)()
    train_op = tf.group(v1.assign_sub(program.weights.variables["bias"], [1.0, 1.0, 1.0]))
    program.session.run(tf.constant(1))
    frozen = fc.freeze(program.target, MASKS)
    with pytest.raises(fc.GraphAlreadyBuilt):
        frozen.hold_after(train_op)


def test_a_session_that_has_not_run_yet_is_no_obstacle():
    """A Session object that exists, of this graph or another, and has run nothing here does not refuse hold_after."""
    program = by_hand(programs.Graph)()
    with tf.Graph().as_default(), v1.Session() as foreign:
        other = v1.Variable([1.0])
        foreign.run(other.initializer)
    program.frozen = fc.freeze(program.target, MASKS)
    program.finish()
    before = program.values()
    graph_kit.train(program, range(3))
    graph_kit.assert_held_and_free_moved(before, program.values())


def test_a_train_op_that_writes_nothing_is_refused():
    """An op that changes no weight of the target is a ValueError, and the Frozen stays NOT ATTACHED."""
    weight, other = v1.Variable([1.0, 2.0], name="w"), v1.Variable([1.0, 2.0], name="other")
    frozen = fc.freeze([weight], {"w": (0,)})
    for nothing in (tf.no_op(), tf.reduce_sum(weight), v1.assign_sub(other, [1.0, 1.0])):
        with pytest.raises(ValueError, match="writes none"):
            frozen.hold_after(nothing)
    assert "NOT ATTACHED" in repr(frozen)


def test_hold_in_a_graph_is_refused():
    """hold() is for eager mode; in a graph it says to use hold_after."""
    weight = v1.Variable([1.0, 2.0], name="w")
    frozen = fc.freeze([weight], {"w": (0,)})
    with pytest.raises(ValueError, match="hold_after"):
        with frozen.hold():
            pass


def test_a_plain_assign_is_an_update_too(kind):
    """v.assign(v - rate * gradient) is held as assign_sub is."""
    start = np.array([1.0, -0.0, 3.0], "f4")
    weight = v1.Variable(start, name="w", use_resource=kind is programs.Graph)
    frozen = fc.freeze([weight], {"w": [(0,), (1,)]})
    held = frozen.hold_after(v1.assign(weight, weight - 0.5))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(50):
            session.run(held)
        after = session.run(weight)
        frozen.verify()
    assert after[:2].tobytes() == start[:2].tobytes() and after[2] == -22.0


def test_new_initializers_are_no_updates():
    """A run of the initializer after hold_after sets the values that are then held."""
    weight = v1.Variable([1.0, 2.0], name="w")
    frozen = fc.freeze([weight], {"w": (0,)})
    held = frozen.hold_after(v1.assign_sub(weight, [1.0, 1.0]))
    with v1.Session() as session:
        for _ in range(2):
            session.run(v1.global_variables_initializer())
            session.run(held)
            assert session.run(weight).tolist() == [1.0, 1.0]
        frozen.verify()
