"""Keras in graph mode: Keras 2's own training, and the layers of Keras 3 in a TF1 graph."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes
from graph_kit import v1

KERAS = runtimes.keras_packages()
KERAS_2 = KERAS.get("tf.keras")
HIDDEN = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, 0.125], [0.25, -1.0, 0.5], [-0.75, 0.375, -0.0]], "f4")
VALUES = [HIDDEN, np.array([0.1, -0.2, 0.3], "f4"), np.array([[0.5], [0.25], [-1.0]], "f4"), np.array([0.05], "f4")]
ADDRESSES = ["hidden/kernel", "hidden/bias", "out/kernel", "out/bias"]
SPEC = {"hidden/kernel": [(1, 2), (3, 2)], "out/kernel": (1, 0)}
X = np.array([[1.0, 0.5, -0.5, 0.25], [-0.75, 1.0, 0.5, -1.0], [0.5, -1.0, 1.0, 0.75], [-0.25, 0.25, -0.75, 0.5]], "f4")
Y = np.array([[1.0], [0.5], [-0.5], [0.75]], "f4")


def pytest_generate_tests(metafunc):
    # Keras 3 has no training of its own in a graph: its part of this file is the last one.
    if "make_optimizer" in metafunc.fixturenames:
        makers = _keras_2_optimizers()
        metafunc.parametrize("make_optimizer", [makers[name] for name in sorted(makers)], ids=sorted(makers))


def _keras_2_optimizers():
    if KERAS_2 is None:
        return {}
    module = getattr(KERAS_2.optimizers, "legacy", KERAS_2.optimizers)
    return {
        "Adam": lambda: module.Adam(learning_rate=0.05),
        "SGD": lambda: module.SGD(learning_rate=0.1, momentum=0.9),
        "tf.train.Adam": lambda: v1.train.AdamOptimizer(0.05),
        "tf.train.Momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    }


def build(keras):
    return keras.Sequential(
        [
            keras.layers.InputLayer((4,)),
            keras.layers.Dense(3, name="hidden", activation="tanh"),
            keras.layers.Dense(1, name="out"),
        ]
    )


def model_of_values():
    model = build(KERAS_2)
    model.set_weights(VALUES)
    return model


def fit(model, epochs=2, **options):
    return model.fit(X, Y, batch_size=2, epochs=epochs, shuffle=False, verbose=0, **options)


def assert_moved(before, after, masks):
    for address, old, new in zip(ADDRESSES, before, after):
        mask = masks.get(address, np.zeros(old.shape, bool))
        assert new[mask].tobytes() == old[mask].tobytes(), "{}: a frozen element moved".format(address)
        assert (new != old)[~mask].all(), "{}: a free element stands still".format(address)


@pytest.mark.parametrize("order", ["before compile", "after compile", "after fit"])
@pytest.mark.parametrize("way", ["fit", "train_on_batch"])
def test_frozen_before_or_after_compile_or_a_first_fit(make_optimizer, order, way):
    """fit and train_on_batch hold the elements wherever freeze stands, and let all others train."""
    model = model_of_values()
    if order == "before compile":
        frozen = fc.freeze(model, SPEC)
    model.compile(make_optimizer(), loss="mse")
    if order == "after fit":
        fit(model)
    if order != "before compile":
        frozen = fc.freeze(model, SPEC)
    before = model.get_weights()
    for _ in range(3):
        fit(model, 1) if way == "fit" else model.train_on_batch(X, Y)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()
    assert type(frozen.report().weights[0].moved) is int
    frozen.thaw()
    before = model.get_weights()
    fit(model, 1) if way == "fit" else model.train_on_batch(X, Y)
    assert_moved(before, model.get_weights(), {})
    frozen.release()
    fit(model, 1)


def test_a_second_compile_keeps_the_freeze(make_optimizer):
    """compile with another optimizer: the elements hold under that one."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.compile(make_optimizer(), loss="mae")
    before = model.get_weights()
    fit(model)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()


def callback(**methods):
    return KERAS_2.callbacks.LambdaCallback(**methods)


def test_freeze_and_thaw_from_a_callback(make_optimizer):
    """Attached before fit: a freeze or thaw in a callback acts on the next batch, with every callback seeing held values."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, fc.FreezeSpec.empty())
    seen = []

    def at_end(epoch, logs=None):
        seen.append(model.get_weights())
        if epoch == 1:
            frozen.freeze(SPEC)
        if epoch == 3:
            frozen.thaw()

    fit(model, 6, callbacks=[callback(on_epoch_end=at_end)])
    masks = fc.build_masks(SPEC, fc.list_weights(model))
    for k, held in enumerate([{}, masks, masks, {}, {}]):
        assert_moved(seen[k], seen[k + 1], held)


def test_a_value_set_while_frozen_is_held(make_optimizer):
    """set_weights while frozen: the new value is held, verify() tells, rebase() accepts."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.set_weights([value + 1 for value in VALUES])
    before = model.get_weights()
    fit(model)
    assert_moved(before, model.get_weights(), frozen.masks)
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify()
    frozen.rebase().verify()


def test_a_first_attach_inside_a_running_fit(make_optimizer):
    """Where the running fit can't be reached it warns and acts from the next fit on; elsewhere from the next batch on."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    made, seen = [], []

    def at_begin(epoch, logs=None):
        seen.append(model.get_weights())
        if epoch == 2:
            made.append(fc.freeze(model, SPEC))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(model, 5, callbacks=[callback(on_epoch_begin=at_begin)])
    told = [one for one in caught if "next fit" in str(one.message)]
    frozen = made[0]
    if told:
        assert len(told) == 1
        assert_moved(seen[2], seen[4], {})
        frozen.rebase()
    else:
        assert_moved(seen[2], seen[4], frozen.masks)
    before = model.get_weights()
    fit(model, 3)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()


def test_a_hand_written_graph_around_a_keras_model(make_optimizer):
    """minimize on a Keras 2 model's output, in a session: the optimizer given is the one that counts."""
    model = model_of_values()
    optimizer = v1.train.AdamOptimizer(0.05)
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    train_op = optimizer.minimize(tf.reduce_mean(tf.square(model(tf.constant(X)) - Y)))
    session = v1.keras.backend.get_session()
    session.run(v1.variables_initializer([v for v in v1.global_variables() if all(v is not w for w in model.weights)]))
    before = model.get_weights()
    for _ in range(3):
        session.run(train_op)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify(session)
    make_optimizer()


@pytest.mark.parametrize("package", sorted(name for name in KERAS if name != "tf_keras"))
@pytest.mark.parametrize("with_var_list", [True, False], ids=["var_list", "no_var_list"])
@pytest.mark.parametrize(
    "make", [lambda: v1.train.GradientDescentOptimizer(0.1), lambda: v1.train.MomentumOptimizer(0.1, 0.9),
             lambda: v1.train.AdamOptimizer(0.05)], ids=["sgd", "momentum", "adam"]
)
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


@pytest.mark.parametrize("package", sorted(name for name in KERAS if name != "tf_keras"))
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
