"""What a freeze adds to a step that is built: the operations as large as the weight, counted. Times are in benchmarks/."""

import collections

import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes
from freezecompat.backends.held import HeldWeight

v1 = tf.compat.v1
SHAPE = (40, 50)
# They hand on a buffer, or are no part of a step.
FREE = {"Bitcast", "Identity", "If", "Merge", "Placeholder", "ReadVariableOp", "Reshape", "Switch"}


def sized(graph):
    """{type: count} of the operations with an output of the weight's size."""
    outputs = [(op.type, output.shape) for op in graph.get_operations() for output in op.outputs if op.type not in FREE]
    return collections.Counter(
        kind for kind, shape in outputs if shape.ndims and shape.num_elements() == SHAPE[0] * SHAPE[1]
    )


def bytes_made(graph):
    """Bytes of all tensors of the weight's size that one run of the step makes."""
    outputs = [output for op in graph.get_operations() for output in op.outputs if op.type not in FREE]
    of_size = [
        output for output in outputs if output.shape.ndims and output.shape.num_elements() == SHAPE[0] * SHAPE[1]
    ]
    return sum(output.dtype.size for output in of_size) * SHAPE[0] * SHAPE[1]


def written_by_a_kernel(kit):
    """True for the optimizers of Keras up to 2.10, which are the legacy ones after it."""
    return not hasattr(kit.module.Optimizer, "update_step")


def keras_function(kit, freeze):
    layer = kit.keras.layers.Dense(SHAPE[1], use_bias=False)
    layer(tf.ones((3, SHAPE[0])))
    optimizer = kit.adam()
    if freeze:
        fc.freeze(layer, fc.FreezeSpec.empty(), optimizer=optimizer)
    if hasattr(optimizer, "build"):
        optimizer.build(layer.trainable_variables)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(x)))
        optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables))

    function = tf.function(step).get_concrete_function(tf.ones((3, SHAPE[0])))
    return sized(function.graph), bytes_made(function.graph)


def tf_train_graph(freeze):
    with tf.Graph().as_default() as graph:
        weight = v1.get_variable("weight", SHAPE, use_resource=True)
        optimizer = v1.train.AdamOptimizer()
        if freeze:
            fc.freeze([weight], fc.FreezeSpec.empty(), optimizer=optimizer)
        optimizer.minimize(tf.reduce_mean(tf.square(tf.matmul(v1.placeholder("float32", (3, SHAPE[0])), weight))))
    return sized(graph), bytes_made(graph)


@pytest.mark.skipif(not runtimes.EAGER, reason="a graph has tf.train's step")
@pytest.mark.parametrize("kit", sorted(kits.kits()))
def test_a_traced_step_selects_what_comes_and_what_is_written(kit):
    """The gradient, and the value: where Keras assigns it, before it is written; where a kernel of the optimizer writes, after."""
    kit = kits.kits()[kit]
    frozen, plain = keras_function(kit, freeze=True), keras_function(kit, freeze=False)
    of_the_gradient = {"Select": 1, "Fill": 1} if runtimes.TF1 else {"SelectV2": 1}
    of_the_value = {"Select": 1} if written_by_a_kernel(kit) else {"Select": 1, "Sub": 1}
    added = collections.Counter(of_the_gradient) + collections.Counter(of_the_value)
    assert frozen[0] - plain[0] == added
    assert frozen[1] - plain[1] == 4 * SHAPE[0] * SHAPE[1] * sum(added.values())


@pytest.mark.skipif(not runtimes.EAGER, reason="a graph has tf.train's step")
@pytest.mark.parametrize(
    "options", [{}, {"weight_decay": 0.1}, {"use_ema": True, "ema_overwrite_frequency": 2}], ids=str
)
@pytest.mark.parametrize("traced", [True, False], ids=["traced", "op by op"])
@pytest.mark.parametrize("kit", [name for name, kit in sorted(kits.kits().items()) if not written_by_a_kernel(kit)])
def test_a_step_of_keras_writes_a_weight_once_where_it_did_so_before(kit, traced, options, monkeypatch):
    """No correction follows what an optimizer assigns: nobody can see a frozen element moved."""
    kit = kits.kits()[kit]
    corrected = []
    put_back = HeldWeight.put_back
    monkeypatch.setattr(
        HeldWeight, "put_back", lambda held, snapshot: corrected.append(held) or put_back(held, snapshot)
    )
    model = kit.model()
    optimizer = kit.module.Adam(0.1, **options)
    frozen = fc.freeze(model, kits.SPEC, optimizer=optimizer)
    step = tf.function(kits.tape_step) if traced else kits.tape_step
    before = kits.values(model)
    for _ in range(3):
        step(model, optimizer)
    kits.assert_held_and_free_moved(before, kits.values(model), kits.MASKS)
    frozen.verify()
    assert corrected == []


@pytest.mark.skipif(runtimes.EAGER, reason="a tf.function has Keras' step")
def test_a_graph_selects_once_and_looks_once_for_what_moved():
    """The first mask, and on TF 1 the zeros, are constants; what a branch of a cond writes is in the graph itself only there."""
    frozen, plain = tf_train_graph(freeze=True), tf_train_graph(freeze=False)
    selects = {"Fill": 2, "Select": 2} if runtimes.TF1 else {"Fill": 1, "SelectV2": 1}
    assert frozen[0] - plain[0] == dict(selects, NotEqual=1, LogicalAnd=1)
    bools = 3  # the first mask, what differs, what of that is frozen
    numbers = 3 if runtimes.TF1 else 1
    assert frozen[1] - plain[1] == (bools + 4 * numbers) * SHAPE[0] * SHAPE[1]


def constants(weights, freeze):
    """How many values that depend on nothing a graph has, outside of conds, with Adam's step of weights, dense and looked up."""
    with tf.Graph().as_default() as graph:
        variables = [v1.get_variable("w{}".format(k), (4, 2), use_resource=True) for k in range(weights)]
        tables = [v1.get_variable("t{}".format(k), (4, 2), use_resource=True) for k in range(weights)]
        pairs = [(v1.placeholder("float32", (4, 2)), variable) for variable in variables]
        rows = v1.placeholder("float32", (3, 2)), v1.placeholder("int32", (3,))
        pairs += [(tf.IndexedSlices(*rows), table) for table in tables]
        optimizer = v1.train.AdamOptimizer()
        if freeze:
            fc.freeze(variables + tables, fc.FreezeSpec.empty(), optimizer=optimizer)
        optimizer.apply_gradients(pairs)
    ops = [op for op in graph.get_operations() if op._get_control_flow_context() is None]
    return sum(op.type in ("Const", "Fill", "PlaceholderWithDefault", "Range") for op in ops)


@pytest.mark.skipif(runtimes.EAGER, reason="a graph has tf.train's step")
def test_the_weights_of_a_graph_share_constants():
    """A freeze adds as many to a step of two weights as to one of six; TensorFlow's tests of Keras 2 look for duplicates."""
    added = [constants(weights, freeze=True) - constants(weights, freeze=False) for weights in (1, 3)]
    assert added[0] == added[1] > 0
