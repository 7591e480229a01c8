"""Faults that users of the first days ran into, on each Keras at hand."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

X = np.random.RandomState(0).rand(16, 4).astype("f4")
Y = np.random.RandomState(1).rand(16, 3).astype("f4")
SPEC = {"h/kernel": [(1, 2), (3, 1)]}


@pytest.fixture(params=sorted(runtimes.keras_packages()))
def keras(request):
    return runtimes.keras_packages()[request.param]


def compiled(keras, optimizer):
    inputs = keras.layers.Input((4,))
    hidden = keras.layers.BatchNormalization(name="bn")(keras.layers.Dense(4, name="a")(inputs))
    model = keras.Model(inputs, keras.layers.Dense(3, name="h")(hidden))
    model.compile(loss="mse", optimizer=optimizer)
    return model


def fit(model):
    """One epoch, which moves a free element of each Dense kernel."""
    before = [layer.get_weights()[0] for layer in (model.get_layer("a"), model.get_layer("h"))]
    model.fit(X, Y, batch_size=8, verbose=0)
    after = [layer.get_weights()[0] for layer in (model.get_layer("a"), model.get_layer("h"))]
    assert all((b != a).sum() >= b.size - 3 for b, a in zip(before, after))


def test_a_schedule_without_a_config(keras):
    """Slots are reset under a learning rate schedule that can't be serialized."""

    class Schedule(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.01

    model = compiled(keras, keras.optimizers.Adam(Schedule()))
    fit(model)
    with fc.freeze(model, SPEC) as frozen:
        fit(model)
        frozen.verify()
        frozen.thaw()
        fit(model)


def test_an_optimizer_that_can_not_be_made_anew(keras):
    """It is refused before anything is changed, and the reason is said."""

    class Custom(keras.optimizers.SGD):
        def __init__(self, boss):
            super(Custom, self).__init__(learning_rate=0.1)

    model = compiled(keras, Custom("me"))
    fit(model)
    before = dict(vars(model.optimizer)), sorted(vars(model))
    with pytest.raises(fc.ArgumentError, match="Custom can't be made anew.*get_config"):
        fc.freeze(model, SPEC)
    assert (dict(vars(model.optimizer)), sorted(vars(model))) == before


def test_an_optimizer_that_attaches_a_freeze_to_itself(keras):
    """A class whose every new instance is attached: the ones that are made to know fresh slots too."""
    made = []

    class Attached(keras.optimizers.Adam):
        def __init__(self, learning_rate=0.01, **options):
            super(Attached, self).__init__(learning_rate, **options)
            made.append(self)
            fc.freeze([tf.Variable([0.0])], fc.FreezeSpec.empty(), optimizer=self)

    model = compiled(keras, Attached())
    fit(model)
    with fc.freeze(model, SPEC) as frozen:
        before = model.get_layer("h").get_weights()[0]
        fit(model)
        frozen.verify()
        assert ((model.get_layer("h").get_weights()[0] != before).sum() == before.size - 2) and len(made) < 12


def test_a_target_inside_a_model_that_was_fitted(keras):
    """The model's train step is made anew for a layer or a list of its variables, and for a second Frozen."""
    model = compiled(keras, keras.optimizers.Adam(0.01))
    fit(model)
    of_layer = fc.freeze(model.get_layer("h"), {"kernel": [(1, 2), (3, 1)]}, optimizer=model.optimizer)
    fit(model)
    of_model = fc.freeze(model, {"a/kernel": (0, 0)})
    fit(model)
    of_layer.verify()
    of_model.verify()


def test_an_optimizer_shared_by_two_models_that_were_fitted(keras):
    """A freeze of the second model acts although the optimizer was attached for the first."""
    optimizer = keras.optimizers.SGD(0.1)
    first, second = compiled(keras, optimizer), compiled(keras, optimizer)
    if hasattr(optimizer, "build"):
        optimizer.build(first.trainable_variables + second.trainable_variables)
    fit(first)
    fit(second)
    frozen = [fc.freeze(first, SPEC), fc.freeze(second, SPEC)]
    fit(first)
    fit(second)
    for one in frozen:
        one.verify()


def test_what_a_layer_writes_itself_is_refused(keras):
    """Moving statistics of a layer, or without a train step: an error says so, and the same layer's gamma can be frozen."""
    model = compiled(keras, keras.optimizers.SGD(0.1))
    with pytest.raises(fc.ArgumentError, match="moving_mean.*forward pass"):
        fc.freeze(model.get_layer("bn"), {"moving_mean": "all"}, optimizer=model.optimizer)
    if not hasattr(model, "train_step"):
        with pytest.raises(fc.ArgumentError, match="bn/moving_mean.*forward pass"):
            fc.freeze(model, {"bn/moving_mean": "all"})
    frozen = fc.freeze(model, {"bn/gamma": "all"})
    fit(model)
    frozen.verify()


def test_detach_of_the_compiled_optimizer(keras):
    """It stays detached until it is attached again."""
    model = compiled(keras, keras.optimizers.SGD(0.1))
    frozen = fc.freeze(model, SPEC).detach(model.optimizer)
    assert "NOT ATTACHED" in repr(frozen)
    before = model.get_layer("h").get_weights()[0]
    fit(model)
    assert (model.get_layer("h").get_weights()[0] != before)[[1, 3], [2, 1]].all()
    with pytest.raises(fc.NotAttached):
        frozen.verify()
    frozen.attach(model.optimizer).rebase()
    fit(model)
    frozen.verify()


@pytest.mark.parametrize("nothing", [None, []], ids=["None", "an empty list"])
def test_attach_of_nothing(keras, nothing):
    """A TypeError, not a silent success."""
    with pytest.raises(fc.NotAnOptimizer, match="attach needs an optimizer"):
        fc.freeze(compiled(keras, "sgd"), SPEC).attach(nothing)


def test_gradients_by_a_tensor():
    """compute_gradients of a `tf.train` optimizer takes tensors in eager mode; apply_gradients refuses them, as without a freeze."""
    weight, optimizer = tf.Variable([1.0, 2.0], name="w"), tf.compat.v1.train.GradientDescentOptimizer(0.5)
    fc.freeze([weight], {"w": [0]}, optimizer=optimizer)
    x = tf.constant(3.0)
    pairs = optimizer.compute_gradients(lambda: x * x, [x])
    assert pairs[0][0].numpy() == 6.0 and pairs[0][1] is x
    with pytest.raises(NotImplementedError):
        optimizer.apply_gradients(pairs)
    optimizer.minimize(lambda: tf.reduce_sum(weight * weight), var_list=[weight])
    assert weight.numpy().tolist() == [1.0, 0.0]
