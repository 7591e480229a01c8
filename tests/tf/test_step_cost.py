"""What a freeze adds to a step that is built: the operations as large as the weight, counted. Times are in benchmarks/."""

import collections

import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes

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
    return sized(function.graph)


def tf_train_graph(freeze):
    with tf.Graph().as_default() as graph:
        weight = v1.get_variable("weight", SHAPE, use_resource=True)
        optimizer = v1.train.AdamOptimizer()
        if freeze:
            fc.freeze([weight], fc.FreezeSpec.empty(), optimizer=optimizer)
        optimizer.minimize(tf.reduce_mean(tf.square(tf.matmul(v1.placeholder("float32", (3, SHAPE[0])), weight))))
    return sized(graph)


@pytest.mark.skipif(not runtimes.EAGER, reason="a graph has tf.train's step")
@pytest.mark.parametrize("kit", sorted(kits.kits()))
def test_a_traced_step_has_one_select_and_one_correction_more(kit):
    """The bits of the mask, the gradient's with them; the mask as bool, the held values where it says so."""
    kit = kits.kits()[kit]
    added = keras_function(kit, freeze=True) - keras_function(kit, freeze=False)
    assert added == {"Cast": 1, "BitwiseAnd": 1, "Equal": 1, "Select": 1}


@pytest.mark.skipif(runtimes.EAGER, reason="a tf.function has Keras' step")
def test_a_graph_selects_once_and_looks_once_for_what_moved():
    """The zeros and the first mask are constants; what a branch of a cond writes is in the graph itself only on TF 1."""
    added = tf_train_graph(freeze=True) - tf_train_graph(freeze=False)
    assert added == {"Fill": 2, "Select": 2 if runtimes.TF1 else 1, "NotEqual": 1, "LogicalAnd": 1}
