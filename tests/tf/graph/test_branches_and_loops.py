"""Updates inside tf.cond, tf.while_loop and tf.function of a TF1 graph: held, and noticed where nothing holds them."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
from graph_kit import OPTIMIZERS, v1

START = np.array([1.0, -2.0, 3.0], "f4")
MASK = np.array([False, True, False])


@pytest.fixture(params=["control-flow-v1", "control-flow-v2"])
def control_flow(request):
    functional = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if request.param == "control-flow-v2" else v1.disable_control_flow_v2)()
    yield
    (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()


def in_cond(step):
    """Gradients, and an update in one branch: how gradient accumulation is written."""

    def update():
        with tf.control_dependencies([step()]):
            return tf.constant(1)

    return v1.cond(v1.placeholder_with_default(True, []), update, lambda: tf.constant(0))


def in_nested_cond(step):
    return v1.cond(v1.placeholder_with_default(True, []), lambda: in_cond(step), lambda: tf.constant(0))


def in_while(step):
    """Three steps in one run."""

    def body(i):
        with tf.control_dependencies([step()]):
            return i + 1

    return v1.while_loop(lambda i: i < 3, body, [tf.constant(0)])


def in_function(step):
    @tf.function(autograph=False)
    def update():
        with tf.control_dependencies([step()]):
            return tf.constant(1)

    return update()


WAYS = {"cond": in_cond, "nested": in_nested_cond, "while": in_while, "function": in_function}


@pytest.fixture(params=sorted(WAYS))
def way(request, control_flow):
    return WAYS[request.param]


def weight(oracle_mask=None):
    """A weight and what the loss reads of it: itself, or the oracle's selection, whose mask is a variable."""
    variable = v1.get_variable("w" if oracle_mask is None else "oracle", initializer=START, use_resource=True)
    if oracle_mask is None:
        return variable, lambda: variable.read_value()
    return variable, lambda: v1.where(oracle_mask, START, variable.read_value())


def minimize(optimizer, variable, read):
    target = np.array([0.5, 7.0, -1.0], "f4")
    return optimizer.minimize(tf.reduce_sum(tf.square(read() - target)), var_list=[variable])


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_an_attached_optimizer_is_held_there(way, name):
    """Frozen from the start: the frozen element keeps its bytes, the others have those of the oracle; thawed, it trains."""
    optimizer = OPTIMIZERS[name]()
    variable, read = weight()
    frozen = fc.freeze([variable], {"w": MASK}, optimizer=optimizer)
    train_op = way(lambda: minimize(optimizer, variable, read))
    oracle, oracle_read = weight(MASK)
    other = OPTIMIZERS[name]()
    oracle_op = way(lambda: minimize(other, oracle, oracle_read))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(4):
            session.run(train_op)
            session.run(oracle_op)
            now, expected = session.run([variable, oracle])
            assert now.tobytes() == expected.tobytes()
        assert now[MASK].tobytes() == START[MASK].tobytes() and (now != START)[~MASK].all()
        frozen.verify()
        frozen.thaw()
        session.run(train_op)
        assert session.run(variable)[1] != START[1]
        frozen.freeze({"w": (0,)})  # and the update counts as reached
        before = session.run(variable)
        session.run(train_op)
        after = session.run(variable)
        assert after[0] == before[0] and after[1] != before[1]


def test_an_unattached_optimizer_is_noticed_there(way):
    """An update in a branch, a loop or a function refuses the freeze as one outside does."""
    optimizer = OPTIMIZERS["momentum"]()
    variable, read = weight()
    way(lambda: minimize(optimizer, variable, read))
    with pytest.raises(fc.GraphAlreadyBuilt, match="w: .*Momentum"):
        fc.freeze([variable], {"w": MASK}, optimizer=optimizer)


def test_one_beside_the_attached_optimizer_is_noticed_there(way):
    """That another optimizer's update is reached does not hide one that is not."""
    optimizer, other = OPTIMIZERS["sgd"](), OPTIMIZERS["sgd"]()
    variable, read = weight()
    frozen = fc.freeze([variable], fc.FreezeSpec.empty(), optimizer=optimizer)
    way(lambda: minimize(optimizer, variable, read))
    way(lambda: minimize(other, variable, read))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(fc.GraphAlreadyBuilt):
            frozen.freeze({"w": MASK})


def test_an_update_of_another_weight_there_is_none_of_this_one(way):
    """Only the weights that are written in a branch count."""
    variable, _ = weight()
    other, read = weight(MASK)
    way(lambda: minimize(OPTIMIZERS["sgd"](), other, read))
    frozen = fc.freeze([variable], {"w": MASK}, optimizer=OPTIMIZERS["sgd"]())
    assert frozen.num_frozen == 1


def test_a_hand_written_update_is_held_there(way):
    """hold_after orders the branch, the loop or the call as a whole."""
    variable, _ = weight()
    frozen = fc.freeze([variable], {"w": MASK})
    held = frozen.hold_after(way(lambda: variable.assign_sub([1.0, 1.0, 1.0])))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(20):
            session.run(held)
        frozen.verify()
        after = session.run(variable)
    assert after[1] == START[1] and after[0] in (1.0 - 20, 1.0 - 60)


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_a_reference_variable_in_a_branch(name):
    """Under the control flow of TF 1.x, the only one that reference variables train in."""
    functional = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        optimizer = OPTIMIZERS[name]()
        variable = v1.get_variable("w", initializer=START, use_resource=False)
        frozen = fc.freeze([variable], {"w": MASK}, optimizer=optimizer)
        train_op = in_cond(lambda: minimize(optimizer, variable, lambda: variable + 0.0))
        in_while(lambda: minimize(OPTIMIZERS[name](), variable, lambda: variable + 0.0))
    finally:
        (v1.enable_control_flow_v2 if functional else v1.disable_control_flow_v2)()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train_op)
        after = session.run(variable)
        assert after[1] == START[1] and (after != START)[~MASK].all()
        frozen.verify()
        with pytest.raises(fc.GraphAlreadyBuilt, match="while"):
            frozen.freeze({"w": (0,)})
