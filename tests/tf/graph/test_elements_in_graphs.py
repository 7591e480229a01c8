"""The element language in TF1 graphs: values and pins are those of a session, gates those of tf.nn.rnn_cell."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import graph_kit
import programs
import runtimes
from freezecompat import elements
from graph_kit import KINDS, v1


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    return KINDS[request.param]


def test_values_are_those_of_the_session(kind):
    """Frozen by value in the midst of training, in a finalized graph."""
    program, frozen = graph_kit.frozen_program(kind)
    graph_kit.train(program, range(2))
    program.session.graph.finalize()
    before = program.values()
    frozen.freeze({"kernel": elements.smallest(5), "bias": elements.where("w > 0")}, session=program.session)
    masks = dict(frozen.masks)
    order = np.argsort(np.abs(before["kernel"]).ravel(), kind="mergesort")[:5]
    assert np.flatnonzero(masks["kernel"]).tolist() == sorted(order.tolist())
    assert masks.get("bias", np.zeros(3, bool)).tolist() == (before["bias"] > 0).tolist()
    graph_kit.train(program, range(2, 5))
    graph_kit.assert_held_and_free_moved(before, program.values(), masks)
    frozen.verify(program.session)


def test_a_pin_sets_the_value_in_the_session(kind):
    """No new op; held from the next step on, and verify()'s reference."""
    program, frozen = graph_kit.frozen_program(kind)
    graph_kit.train(program, range(2))
    program.session.graph.finalize()
    before = program.values()
    frozen.freeze({"kernel": elements.pin([(0, 0), (3, 2)], [0.5, -0.0])}, session=program.session)
    after = program.values()
    before["kernel"][0, 0], before["kernel"][3, 2] = 0.5, -0.0
    assert all(after[name].tobytes() == before[name].tobytes() for name in before)
    graph_kit.train(program, range(2, 5))
    graph_kit.assert_held_and_free_moved(before, program.values(), frozen.masks)
    frozen.verify(program.session)


def test_without_values_it_is_an_error():
    """No session, or one whose variables are not initialised: what depends on values is refused, and nothing is frozen."""
    program = programs.Graph(graph_kit.adam())
    for spec in ({"kernel": elements.zeros()}, {"kernel": elements.pin((0, 0), 1.0)}):
        with pytest.raises(ValueError, match=r"pass session="):
            fc.freeze(program.target, spec, optimizer=program.optimizer)
        with pytest.raises(ValueError, match="run the initializer before"):
            fc.freeze(program.target, spec, optimizer=program.optimizer, session=v1.Session())
    assert "apply_gradients" not in vars(program.optimizer)
    with pytest.raises(ValueError, match="expected one number"):
        fc.freeze(program.target, {"kernel": elements.pin((0, 0), [1.0, 2.0])}, optimizer=program.optimizer)


def rnn_cells():
    """{name: (cell, gates in the order of their columns)} of the tf.nn.rnn_cell at hand; Keras 3 took it away."""
    try:
        module = v1.nn.rnn_cell
        module.BasicLSTMCell
    except AttributeError:
        return {}
    cells = {
        "BasicLSTMCell": (module.BasicLSTMCell, ["input", "cell", "forget", "output"]),
        "LSTMCell": (module.LSTMCell, ["input", "cell", "forget", "output"]),
        "GRUCell": (module.GRUCell, ["reset", "update"]),
    }
    if runtimes.TF1:
        import importlib

        contrib = importlib.import_module("tensorflow.contrib.rnn")
        cells["LSTMBlockCell"] = (contrib.LSTMBlockCell, ["input", "cell", "forget", "output"])
    return cells


CELLS = rnn_cells()


@pytest.mark.parametrize("name", sorted(CELLS))
def test_gates_of_rnn_cells(name):
    """Its own order, found from the cell object; from bare variables it is given in the spec."""
    make, order = CELLS[name]
    cell = make(2)
    inputs = v1.placeholder(tf.float32, [None, 3])
    cell(inputs, cell.zero_state(4, tf.float32))
    rows = fc.list_weights(cell)
    by_role = {row.role: row for row in rows}
    kernel = by_role.get("kernel") or by_role["gate_kernel"]
    for place, gate in enumerate(order):
        masks = fc.build_masks({"*": elements.gates(gate)}, rows)
        assert np.flatnonzero(masks[kernel.address][0]).tolist() == [2 * place, 2 * place + 1]
        bare = fc.list_weights(cell.trainable_variables)
        address = [row.address for row in bare if row.name == kernel.name]
        again = fc.build_masks({address[0]: elements.gates(gate, order=order)}, bare)
        assert again[address[0]].tolist() == masks[kernel.address].tolist()
    if name == "GRUCell":
        masks = fc.build_masks({"*": elements.gates("candidate")}, rows)
        assert sorted(masks) == ["candidate_bias", "candidate_kernel"] and all(mask.all() for mask in masks.values())


@pytest.mark.parametrize("name", sorted(set(CELLS) - {"GRUCell"}))
def test_the_forget_gate_of_an_rnn_cell_forgets(name):
    """The order is not taken from a book: with that gate closed, the cell's old state has no part in the new one."""
    make, _ = CELLS[name]
    cell = make(2)
    state = v1.placeholder(tf.float32, [2, 2])
    old = type(cell.zero_state(2, tf.float32))(state, tf.zeros([2, 2]))
    _, new = cell(tf.zeros([2, 3]), old)
    train_op = v1.train.GradientDescentOptimizer(0.1)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        states = {state: np.array([[3.0, -3.0], [-3.0, 3.0]], "f4")}
        assert np.ptp(session.run(new[0], states), axis=0).min() > 1.0
        fc.freeze(cell, {"*bias": elements.pin(elements.gates("forget"), -100.0)}, optimizer=train_op)
        assert np.ptp(session.run(new[0], states), axis=0).max() < 1e-6
