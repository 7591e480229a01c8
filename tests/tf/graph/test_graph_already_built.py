"""A freeze of a graph that has updates already: refused where they can't be reached, and only there."""

import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
from graph_kit import KINDS, MASKS, v1


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


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
