"""Slots in a graph: a freeze and a thaw each begin with those of a fresh optimizer."""

import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
from graph_kit import KINDS, MASKS, OPTIMIZERS, v1


SLOTTED = {
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: v1.train.AdamOptimizer(0.05),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.05, momentum=0.9),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1),
}


@pytest.mark.parametrize("optimizer", sorted(SLOTTED))
@pytest.mark.parametrize("name", sorted(KINDS))
def test_slots_after_freeze_and_after_thaw_are_those_of_a_fresh_optimizer(optimizer, name):
    """freeze and thaw each give those elements fresh slot entries, and leave the entries of all others alone."""
    program, frozen = graph_kit.frozen_program(KINDS[name], SLOTTED[optimizer])
    session, kernel, mask = program.session, program.weights.variables["kernel"], MASKS["kernel"]
    names = program.optimizer.get_slot_names()

    def slots():
        return {one: session.run(program.optimizer.get_slot(kernel, one)) for one in names}

    fresh = slots()
    graph_kit.train(program, range(3))
    warm = slots()
    assert any((warm[one] != fresh[one])[mask].any() for one in names)
    frozen.freeze(MASKS, session=session)
    for one, now in slots().items():
        assert now[mask].tobytes() == fresh[one][mask].tobytes(), one
        assert now[~mask].tobytes() == warm[one][~mask].tobytes(), one
    before = program.values()
    graph_kit.train(program, range(3, 6))
    graph_kit.assert_held_and_free_moved(before, program.values())
    warm = slots()
    frozen.thaw(session=session)
    for one, now in slots().items():
        assert now[mask].tobytes() == fresh[one][mask].tobytes(), one
        assert now[~mask].tobytes() == warm[one][~mask].tobytes(), one


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_an_element_with_no_gradient_does_not_jump_when_thawed(optimizer):
    """A warm slot is gone: a thawed element whose gradient is 0 stays where it is."""
    weight = v1.Variable([1.0, 2.0, 3.0], name="w")
    factor = v1.placeholder(tf.float32, [3])
    opt = OPTIMIZERS[optimizer]()
    frozen = fc.freeze([weight], fc.FreezeSpec.empty(), optimizer=opt)
    step = opt.minimize(tf.reduce_sum(weight * factor))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(step, {factor: [1, 1, 1]})
        frozen.freeze({"w": (0,)})
        before = session.run(weight)
        for _ in range(3):
            session.run(step, {factor: [1, 1, 1]})
        frozen.thaw()
        session.run(step, {factor: [0, 0, 1]})
        after = session.run(weight)
        assert after[0].tobytes() == before[0].tobytes() and (after[1:] != before[1:]).all()
        session.run(step, {factor: [1, 1, 1]})
        assert session.run(weight)[0] != before[0]
