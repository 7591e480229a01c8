"""Gradients in a graph: clipped by hand, None, sparse, not finite."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
from graph_kit import MASKS, OPTIMIZERS, v1


class _Clipped(programs.Graph):
    """The gradients clipped by hand between tf.gradients and apply_gradients."""

    frozen = None

    def minimize(self):
        variables = list(self.weights.variables.values())
        gradients = v1.gradients(self.loss, variables)
        if self.frozen is not None:
            gradients = self.frozen.mask_gradients(gradients, variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 0.05)
        return self.optimizer.apply_gradients(zip(gradients, variables), global_step=self.global_step)


class _ComputedAndClipped(programs.Graph):
    """The same between compute_gradients and apply_gradients: no mask_gradients needed."""

    def minimize(self):
        pairs = self.optimizer.compute_gradients(self.loss, list(self.weights.variables.values()))
        gradients, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.05)
        return self.optimizer.apply_gradients(
            ((g, v) for g, (_, v) in zip(gradients, pairs)), global_step=self.global_step
        )


@pytest.mark.parametrize("cls", [_Clipped, _ComputedAndClipped])
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
def test_a_global_norm_clipped_by_hand_counts_free_elements_only(cls, optimizer):
    """With mask_gradients before the clip, or out of compute_gradients, the free elements are the oracle's."""
    program = cls(OPTIMIZERS[optimizer]())
    program.frozen = fc.freeze(program.target, fc.FreezeSpec.empty(), optimizer=program.optimizer)
    oracle = cls(OPTIMIZERS[optimizer](), oracle=True)
    program.finish()
    graph_kit.train_beside(program, oracle, range(2), {})
    program.frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(2, 8))
    program.frozen.verify(session=program.session)


class _TfGradients(programs.Graph):
    def minimize(self):
        variables = list(self.weights.variables.values())
        gradients = v1.gradients(self.loss, variables)
        return self.optimizer.apply_gradients(list(zip(gradients, variables)), self.global_step)


def test_tf_gradients_and_apply_gradients():
    """A user's own gradients are selected in apply_gradients, with global_step as a positional argument."""
    program, frozen = graph_kit.frozen_program(_TfGradients, spec=MASKS)
    oracle = _TfGradients(graph_kit.adam(), oracle=True)
    oracle.set_frozen(MASKS)
    graph_kit.train_beside(program, oracle, range(6))
    frozen.verify(session=program.session)
    assert program.session.run(program.global_step) == 6


def test_none_stays_none_and_slices_stay_slices():
    """mask_gradients keeps container, None and IndexedSlices; so does compute_gradients."""
    program = programs.Graph(graph_kit.adam())
    alone = v1.Variable([1.0, 2.0], name="alone")
    target = dict(program.target, alone=alone)
    frozen = fc.freeze(target, dict(MASKS, alone=(0,)), optimizer=program.optimizer)
    variables = list(target.values())
    gradients = v1.gradients(program.loss, variables)
    assert gradients[-1] is None and isinstance(gradients[3], tf.IndexedSlices)
    for container in (list, tuple):
        masked = frozen.mask_gradients(container(gradients), variables)
        assert type(masked) is container
        assert masked[-1] is None and isinstance(masked[3], tf.IndexedSlices)
    computed = program.optimizer.compute_gradients(program.loss, variables)
    assert all(v is variable for (_, v), variable in zip(computed, variables))
    assert computed[-1][0] is None and isinstance(computed[3][0], tf.IndexedSlices)


def test_a_weight_without_a_gradient_is_neither_read_nor_written():
    """A None gradient leaves its variable alone: it need not even be initialised, though elements of it are frozen."""
    program = programs.Graph(graph_kit.adam())
    alone = v1.Variable([1.0, 2.0], name="alone")
    fc.freeze(dict(program.target, alone=alone), dict(MASKS, alone=(0,)), optimizer=program.optimizer)
    train_op = program.optimizer.minimize(program.loss)
    program.session.run(v1.variables_initializer([v for v in v1.global_variables() if v is not alone]))
    inputs, y = programs.BATCHES[0]
    before = program.values()
    for k in range(3):
        inputs, y = programs.BATCHES[k]
        program.session.run(train_op, {program.inputs: inputs, program.y: y})
    after = program.values()
    graph_kit.assert_held_and_free_moved(
        {n: before[n] for n in ("kernel", "bias", "mix")}, {n: after[n] for n in ("kernel", "bias", "mix")}
    )
    assert not program.session.run(v1.is_variable_initialized(alone))


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("bad", [np.nan, np.inf], ids=["nan", "inf"])
def test_a_bad_gradient_of_a_frozen_element_stays_there(optimizer, use_resource, bad):
    """NaN or inf in a frozen element's gradient reaches neither weight, slots, nor a free element."""
    start = np.array([1.0, 2.0, -0.0], "f4")

    def build(factor):
        weight = v1.Variable(start, use_resource=use_resource)
        opt = OPTIMIZERS[optimizer]()
        frozen = fc.freeze([weight], [(weight, [(0,), (2,)])], optimizer=opt)
        return weight, opt, frozen, opt.apply_gradients([(tf.constant(factor, tf.float32) * (weight + 1), weight)])

    ill, well = build([bad, 1.0, bad]), build([0.0, 1.0, 0.0])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(5):
            session.run([ill[3], well[3]])
        a, b = session.run([ill[0], well[0]])
        slots = [session.run(ill[1].get_slot(ill[0], name)) for name in ill[1].get_slot_names()]
        ill[2].verify()
    assert a.tobytes() == b.tobytes()
    assert a[[0, 2]].tobytes() == start[[0, 2]].tobytes() and a[1] != start[1]
    assert all(np.isfinite(slot).all() for slot in slots)
