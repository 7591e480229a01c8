"""Moving statistics of BatchNormalization: held in the train step of the model, where they are frozen."""

import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from freezecompat import elements

KITS = kits.kits()
HAVE_TRAIN_STEP = sorted(name for name, kit in KITS.items() if hasattr(kit.keras.Model, "train_step"))
STATISTICS = ["bn/moving_mean", "bn/moving_variance"]


@pytest.fixture(params=HAVE_TRAIN_STEP)
def kit(request):
    return KITS[request.param]


def model_of(kit, **options):
    layers = kit.keras.layers
    model = kit.keras.Sequential([layers.InputLayer((4,)), layers.BatchNormalization(name="bn")])
    model.add(layers.Dense(2, name="out", kernel_initializer="ones"))
    model.compile(kit.momentum(), loss="mse", **options)
    return model


def statistics(model):
    bn = model.layers[-2]
    return [kits.array(bn.moving_mean), kits.array(bn.moving_variance)]


HOW = {"fit": {}, "run_eagerly": {"run_eagerly": True}, "two steps at once": {"steps_per_execution": 2}}


@pytest.mark.parametrize("when", ["before", "between"])
@pytest.mark.parametrize("how", sorted(HOW))
def test_a_frozen_channel_keeps_its_statistics(kit, how, when):
    """The others move as without a freeze, from the very next step, also after a thaw."""
    model, plain = model_of(kit, **HOW[how]), model_of(kit, **HOW[how])
    if when == "between":
        kits.fit(model)
        kits.fit(plain)
    spec = {address: [(1,), (2,)] for address in STATISTICS}
    frozen = fc.freeze(model, spec)
    held = statistics(model)
    kits.fit(model, epochs=2)
    kits.fit(plain, epochs=2)
    for before, now, expected in zip(held, statistics(model), statistics(plain)):
        assert now[[1, 2]].tobytes() == before[[1, 2]].tobytes()
        assert now[[0, 3]].tobytes() == expected[[0, 3]].tobytes()
        assert (expected != before).all()
    frozen.verify()
    frozen.thaw()
    held = statistics(model)
    kits.fit(model)
    assert all((now != before).all() for now, before in zip(statistics(model), held))
    frozen.release()
    assert not {"train_step", "fit", "compile"} & vars(model).keys()


def test_a_whole_model_with_its_statistics_predicts_the_same_bits(kit):
    model = model_of(kit)
    kits.fit(model)
    before = model.predict(kits.X, verbose=0)
    frozen = fc.freeze(model, dict({"*": "all"}, **{address: "all" for address in STATISTICS}))
    kits.fit(model)
    model.train_on_batch(kits.X, kits.Y)
    assert model.predict(kits.X, verbose=0).tobytes() == before.tobytes()
    frozen.verify()
    frozen.thaw({"bn/moving_mean": "all"})
    kits.fit(model)
    assert (model.predict(kits.X, verbose=0) != before).any()


def test_a_freeze_from_a_callback_acts_in_the_next_step(kit):
    """By units, beside another Frozen, and inside a running fit."""
    model = model_of(kit)
    frozen = fc.freeze(model, {"out/kernel": [(0, 0)]})
    seen = []

    class Freeze(kit.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 0:
                frozen.freeze({"bn": elements.units(1, statistics=True)})
            seen.append(statistics(model))

    kits.fit(model, callbacks=[Freeze()])
    for first, second, third in zip(*seen):
        assert first[1].tobytes() == second[1].tobytes() == third[1].tobytes()
        assert (first != second)[[0, 2, 3]].all() and (second != third)[[0, 2, 3]].all()
    frozen.verify()


def test_hold_keeps_them_in_a_loop_of_ones_own_and_verify_finds_what_goes_past(kit):
    model = model_of(kit)
    frozen = fc.freeze(model, {address: "all" for address in STATISTICS})
    with frozen.hold():
        kits.tape_step(model, model.optimizer, tf.constant(kits.X), kits.Y)
    frozen.verify()
    kits.tape_step(model, model.optimizer, tf.constant(kits.X), kits.Y)
    with pytest.raises(fc.FrozenWeightsMoved, match="bn/moving_"):
        frozen.verify()


def test_a_train_step_that_autograph_rewrites(kit):
    """A train step of the user's, and a layer, that branch on a tensor: they are rewritten as without a freeze."""
    keras = kit.keras

    class Branching(keras.layers.Layer):
        def call(self, inputs):
            if tf.reduce_sum(inputs) > 1e9:
                inputs = inputs + 1.0
            return inputs

        def compute_output_shape(self, shape):
            return shape

    model = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.BatchNormalization(name="bn")])
    if kit.name != "keras3":
        model.add(Branching())
    model.add(keras.layers.Dense(2))
    model.compile(kit.sgd(), loss="mse")
    frozen = fc.freeze(model, {"bn/moving_mean": [(0,)]})
    kits.fit(model)
    frozen.verify()
