"""Keras layers, those of Keras 3 too, in a TF1 graph that `tf.train` optimizers train."""

import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes
from graph_kit import OPTIMIZERS, v1
from graph_keras_kit import SPEC, VALUES, X, Y, assert_moved, build

KERAS = {name: keras for name, keras in runtimes.keras_packages().items() if name != "tf_keras"}


@pytest.mark.parametrize("package", sorted(KERAS))
@pytest.mark.parametrize("with_var_list", [True, False], ids=["var_list", "no_var_list"])
@pytest.mark.parametrize("make", [OPTIMIZERS[name] for name in sorted(OPTIMIZERS)], ids=sorted(OPTIMIZERS))
def test_layers_of_any_keras_in_a_v1_graph(package, with_var_list, make):
    """Keras layers train in a graph with a session, their variables given to minimize or not, Keras 3's too."""
    model = build(KERAS[package])
    optimizer = make()
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    options = {"var_list": model.trainable_variables} if with_var_list else {}
    loss = tf.reduce_mean(tf.square(model(tf.constant(X)) - Y))
    step = v1.train.get_or_create_global_step()
    train_op = optimizer.minimize(loss, global_step=step, **options)
    variables = [getattr(v, "_value", v) for v in model.trainable_variables]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for variable, value in zip(variables, VALUES):
            session.run(variable.initializer, {variable.initializer.inputs[1]: value})
        for _ in range(4):
            session.run(train_op)
        assert_moved(VALUES, session.run(variables), frozen.masks)
        frozen.verify()
        frozen.thaw({"hidden/kernel": "all"})
        before = session.run(variables)
        session.run(train_op)
        masks = {"out/kernel": frozen.masks["out/kernel"]}
        assert_moved(before, session.run(variables), masks)
        assert session.run(step) == 5


@pytest.mark.parametrize("package", sorted(KERAS))
def test_gradients_of_keras_variables_by_hand(package):
    """mask_gradients and apply_gradients take what model.trainable_variables holds."""
    model = build(KERAS[package])
    optimizer = v1.train.AdamOptimizer(0.05)
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    loss = tf.reduce_mean(tf.square(model(tf.constant(X)) - Y))
    variables = [getattr(v, "_value", v) for v in model.trainable_variables]
    gradients = frozen.mask_gradients(v1.gradients(loss, variables), model.trainable_variables)
    clipped, _ = tf.clip_by_global_norm(gradients, 0.1)
    train_op = optimizer.apply_gradients(zip(clipped, model.trainable_variables))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        before = session.run(variables)
        for _ in range(4):
            session.run(train_op)
        assert_moved(before, session.run(variables), frozen.masks)
        frozen.verify()
