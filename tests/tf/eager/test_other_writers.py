"""What writes a weight besides the gradient: constraints, moving averages, wrappers and callbacks of Keras."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes
from kits import MASKS, SPEC, assert_held_and_free_moved, values

KITS = kits.kits()
AVERAGING = {name: kit for name, kit in KITS.items() if "legacy" not in name and hasattr(kit.module, "AdamW")}
CONSTRAINTS = {
    "UnitNorm": lambda constraints: constraints.UnitNorm(),  # moves 0.125, a frozen element
    "NonNeg": lambda constraints: constraints.NonNeg(),  # makes 0.0 of -0.0, the other one
    "MaxNorm": lambda constraints: constraints.MaxNorm(0.5),
}


@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
@pytest.mark.parametrize("kit", sorted(KITS))
def test_a_constraint_sees_the_whole_weight_and_counts_for_the_free_elements(kit, constraint):
    kit = KITS[kit]
    optimizer = kit.sgd()
    layer = kit.keras.layers.Dense(3, kernel_constraint=CONSTRAINTS[constraint](kit.keras.constraints))
    layer(tf.constant(kits.X))
    layer.set_weights(kits.WEIGHTS[:2])
    frozen = fc.freeze(layer, {"kernel": SPEC["hidden/kernel"]}, optimizer=optimizer)
    mask = MASKS["hidden/kernel"]
    for step in range(3):
        held = layer.get_weights()[0]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(tf.constant(kits.X))))
        gradients = tape.gradient(loss, layer.trainable_variables)
        selected = np.where(mask, 0, gradients[0]).astype("f4")
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
        now = layer.get_weights()[0]
        expected = np.array(layer.kernel_constraint(tf.constant(held - np.float32(0.1) * selected)))
        assert now[mask].tobytes() == held[mask].tobytes()
        np.testing.assert_allclose(now[~mask], expected[~mask], rtol=1e-5)
        assert (expected[mask] != held[mask]).any() or constraint != "UnitNorm"
    frozen.verify()


MOVING = [(name, lambda module: module.Ftrl(learning_rate=0.5), "ftrl") for name in sorted(KITS)]
MOVING += [
    (name, lambda module: module.AdamW(learning_rate=0.5, weight_decay=0.5), "adamw") for name in sorted(AVERAGING)
]


@pytest.mark.parametrize("kit, make", [pytest.param(*case[:2], id="-".join(case[::2])) for case in MOVING])
def test_a_constraint_sees_held_values_that_the_step_has_moved(kit, make):
    """Ftrl rebuilds each weight from its slots and AdamW decays it, frozen ones too, before the constraint looks."""
    kit = KITS[kit]
    mask, held = MASKS["hidden/kernel"], kits.HIDDEN_KERNEL
    layer = kit.keras.layers.Dense(3, use_bias=False, kernel_constraint=kit.keras.constraints.UnitNorm())
    layer(tf.constant(kits.X))
    layer.set_weights([held])
    optimizer, stock = make(kit.module), make(kit.module)
    frozen = fc.freeze(layer, {"kernel": SPEC["hidden/kernel"]}, optimizer=optimizer)
    free = tf.Variable(held)
    for step in range(3):
        gradient = np.cos(np.arange(12.0, dtype="f4") + step).reshape(held.shape)
        optimizer.apply_gradients([(tf.constant(gradient), layer.trainable_variables[0])])
        stock.apply_gradients([(tf.constant(np.where(mask, 0, gradient).astype("f4")), free)])
        whole = np.where(mask, held, free.numpy())
        free.assign(np.array(layer.kernel_constraint(tf.constant(whole))))
        now = layer.get_weights()[0]
        assert now[mask].tobytes() == held[mask].tobytes()
        np.testing.assert_allclose(now[~mask], free.numpy()[~mask], rtol=1e-6)
    frozen.verify()


@pytest.mark.parametrize("every", [None, 2], ids=["at the end", "every second step"])
@pytest.mark.parametrize("kit", sorted(AVERAGING))
def test_a_moving_average_that_overwrites_the_weights(kit, every):
    """In the optimizer's step, or after the last one of a fit: the frozen elements are put back, the others averaged."""
    kit = AVERAGING[kit]
    optimizer = kit.module.Adam(learning_rate=0.05, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=every)
    model = kit.compiled(optimizer)
    kits.fit(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    kits.fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


# That of tf-keras beside Keras 3 takes InputSpec from `tf.keras`, and can't be built.
SPECTRAL = sorted(n for n in KITS if hasattr(KITS[n].keras.layers, "SpectralNormalization") and n != "tf_keras")


@pytest.mark.parametrize("kit", SPECTRAL)
def test_a_kernel_that_spectral_normalization_divides_is_refused(kit):
    """Its forward pass writes the kernel and computes with what it wrote; the bias is held."""
    kit = KITS[kit]
    layers = kit.keras.layers
    inner = layers.SpectralNormalization(layers.Dense(3, name="hidden"), name="normed")
    model = kit.keras.Sequential([layers.InputLayer((4,)), inner, layers.Dense(2, name="out")])
    model.compile(kit.sgd(), loss="mse", run_eagerly=True)  # in a graph that of Keras 2 fails by itself
    addresses = [row.address for row in fc.list_weights(model)]
    with pytest.raises(fc.ArgumentError, match="kernel: .*SpectralNormalization"):
        fc.freeze(model, {"normed/hidden/kernel": [(0, 0)]})
    frozen = fc.freeze(model, {"hidden/bias": [(1,)], "out/kernel": [(0, 1)]})
    before = values(model)
    kits.fit(model, epochs=2)
    masks = {"normed/hidden/bias": np.array([0, 1, 0], bool), "out/kernel": kits.OTHER_MASKS["out/kernel"]}
    assert_held_and_free_moved(before, values(model), masks, addresses)
    frozen.verify()


SHARPNESS = sorted(
    name
    for name, kit in KITS.items()
    if hasattr(getattr(kit.keras.models, "experimental", None), "SharpnessAwareMinimization")
)


@pytest.mark.parametrize("kit", SHARPNESS)
def test_sharpness_aware_minimization_is_refused_and_else_reported(kit):
    """Its train step adds to each weight and takes away again: a target that has it is refused, verify() finds the rest."""
    kit = KITS[kit]
    inner = kit.model()
    model = kit.keras.models.experimental.SharpnessAwareMinimization(inner, rho=0.5)
    model.compile(kit.sgd(), loss="mse")
    with pytest.raises(fc.ArgumentError, match="hidden/kernel: a SharpnessAwareMinimization adds"):
        fc.freeze(model, {"hidden/kernel": "all"})
    frozen = fc.freeze(inner, {"hidden/kernel": "all"}, optimizer=model.optimizer)
    kits.fit(model, epochs=3)
    with pytest.raises(fc.FrozenWeightsMoved, match="hidden/kernel"):
        frozen.verify()


# Of one layer without activation, and a loss that is a mean, each unit trains by itself: it can be compared with a run
# without a freeze.
UNIT = np.zeros((4, 3), bool)
UNIT[:, 1] = True


def swapping_fit(keras, freeze, **options):
    """What SwapEMAWeights shows in each validation, after each epoch and at the end, by moment, and the Frozen."""
    model = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(3, use_bias=False, name="hidden")])
    model.set_weights([kits.HIDDEN_KERNEL])
    model.compile(keras.optimizers.Adam(0.05, use_ema=True, ema_momentum=0.9), loss="mse")
    targets = np.concatenate([kits.Y, kits.Y[:, :1]], axis=1)
    model.fit(kits.X, targets, batch_size=2, shuffle=False, verbose=0)
    frozen = fc.freeze(model, {"hidden/kernel": UNIT}) if freeze else None
    seen = [("begin", values(model)[0])]

    class Watch(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            seen.append(("swapped", values(model)[0]))

        def on_epoch_end(self, epoch, logs=None):
            seen.append(("epoch end", values(model)[0]))

    swap = keras.callbacks.SwapEMAWeights(**options)
    data = dict(batch_size=2, shuffle=False, verbose=0, validation_data=(kits.X, targets))
    model.fit(kits.X, targets, epochs=3, callbacks=[swap, Watch()], **data)
    seen.append(("end", values(model)[0]))
    model.evaluate(kits.X, targets, verbose=0, callbacks=[swap, Watch()])
    given = keras.callbacks.CallbackList([swap, Watch()], model=model)
    model.fit(kits.X, targets, 2, 1, 0, given, shuffle=False)
    seen.append(("all over", values(model)[0]))
    assert "_swap_variables" not in vars(swap)
    return model, seen, frozen


@pytest.mark.skipif("keras3" not in KITS, reason="Keras 3 has SwapEMAWeights")
@pytest.mark.parametrize("options", [{}, {"swap_on_epoch": True}], ids=["in evaluation", "on epoch"])
def test_swapped_in_averages_leave_the_held_values(options):
    """At each moment frozen elements are held, and the free ones what they are without a freeze."""
    keras = KITS["keras3"].keras
    model, seen, frozen = swapping_fit(keras, True, **options)
    _, plain, _ = swapping_fit(keras, False, **options)
    assert [moment for moment, _ in seen] == [moment for moment, _ in plain]
    assert len({now.tobytes() for _, now in plain}) >= 5
    held = seen[0][1][UNIT].tobytes()
    for (moment, now), (_, expected) in zip(seen, plain):
        assert now[UNIT].tobytes() == held, moment
        assert now[~UNIT].tobytes() == expected[~UNIT].tobytes(), moment
    frozen.verify()
    frozen.release()
    assert not [name for name in ("fit", "evaluate", "predict") if name in vars(model)]


@pytest.mark.skipif(runtimes.TF1, reason="TF 1.x averages tensors of a graph")
def test_an_average_of_eager_variables_that_is_swapped_in():
    """Frozen warm: the average of a frozen element is its held value from then on."""
    weight = tf.Variable([1.0, 2.0, -0.0])
    optimizer = tf.compat.v1.train.AdamOptimizer(0.05)
    average = tf.train.ExponentialMovingAverage(0.5)

    def step():
        optimizer.apply_gradients([(tf.constant([1.0, 2.0, 3.0]), weight)])
        average.apply([weight])

    frozen = fc.freeze([weight], fc.FreezeSpec.empty(), optimizer=optimizer)
    step()
    step()
    before = average.average(weight).numpy()
    frozen.freeze([(weight, [(0,), (2,)])])
    held = weight.numpy()
    now = average.average(weight).numpy()
    assert now[[0, 2]].tobytes() == held[[0, 2]].tobytes() and now[1] == before[1] != held[1]
    step()
    weight.assign(average.average(weight))
    assert weight.numpy()[[0, 2]].tobytes() == held[[0, 2]].tobytes() and weight.numpy()[1] != held[1]
    frozen.verify()
    frozen.release()


def batch_norm_by_variable(kit):
    """The moving mean as an entry of a dict, which says nothing of the layer that writes it."""
    layers = kit.keras.layers
    model = kit.keras.Sequential([layers.InputLayer((4,)), layers.Dense(2), layers.BatchNormalization()])
    model.compile(kit.sgd(), loss="mse")
    mean = model.layers[-1].moving_mean
    return model, fc.freeze({"mean": mean}, {"mean": "all"}, optimizer=model.optimizer)


def layer_that_assigns(kit):
    keras = kit.keras

    class Own(keras.layers.Layer):
        def build(self, shape):
            self.v = self.add_weight(name="v", shape=(4, 2), initializer="ones")
            super().build(shape)

        def call(self, inputs):
            self.v.assign(self.v / tf.norm(tf.convert_to_tensor(self.v)))
            return tf.matmul(inputs, tf.convert_to_tensor(self.v))

    model = keras.Sequential([keras.layers.InputLayer((4,)), Own(name="own")])
    model.compile(kit.sgd(), loss="mse")
    return model, fc.freeze(model, {"own/v": [(0, 0)]})


def callback_that_sets_weights(kit):
    """As one that loads a checkpoint from before the freeze."""
    model = kit.compiled(kit.sgd())
    old = model.get_weights()
    kits.fit(model)
    frozen = fc.freeze(model, SPEC)
    fit = model.fit
    load = kit.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: model.set_weights(old))
    vars(model)["fit"] = lambda *args, **options: fit(*args, callbacks=[load], **options)
    return model, frozen


@pytest.mark.parametrize("writer", [batch_norm_by_variable, layer_that_assigns, callback_that_sets_weights])
@pytest.mark.parametrize("kit", sorted(KITS))
def test_what_assigns_a_value_is_reported(kit, writer):
    """An assignment in the user's name can't be told from one of the user's: verify() says what moved."""
    model, frozen = writer(KITS[kit])
    frozen.verify()
    model.fit(kits.X, kits.Y, verbose=0)
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify()
    frozen.rebase().verify()


@pytest.mark.parametrize("kit", sorted(KITS))
def test_the_best_weights_that_early_stopping_restores_hold_what_was_frozen_before(kit):
    kit = KITS[kit]
    callbacks = kit.keras.callbacks
    model = kit.compiled(kit.momentum())
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    stop = callbacks.EarlyStopping(monitor="val_loss", patience=1, restore_best_weights=True)
    slower = callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1)
    options = dict(validation_data=(kits.X, -3 * kits.Y), callbacks=[stop, slower])
    assert len(kits.fit(model, epochs=8, **options).epoch) < 8
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


@pytest.mark.parametrize("kit", sorted(KITS))
def test_a_model_with_a_layer_that_counts_the_bins_of_its_data(kit):
    """Keras 2's Discretization keeps a table of no fixed length: no weight to freeze, and no obstacle."""
    kit = KITS[kit]
    layers = kit.keras.layers
    if not hasattr(layers, "Discretization"):
        pytest.skip("this Keras has no Discretization")
    bins = layers.Discretization(num_bins=3)
    bins.adapt(kits.X)
    model = kit.keras.Sequential([layers.InputLayer((4,)), bins])
    model.add(layers.Dense(3, name="hidden"))
    model.add(layers.Dense(2, name="out"))
    model.compile(kit.sgd(), loss="mse")
    assert [row.address for row in fc.list_weights(model)] == kits.ADDRESSES
    frozen = fc.freeze(model, SPEC)
    kits.fit(model)
    frozen.verify()
