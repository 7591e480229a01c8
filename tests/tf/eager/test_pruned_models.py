"""Models that TensorFlow Model Optimization prunes: what it has pruned is frozen in the stripped model, and stays 0."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits

# tox installs it there: of the TensorFlows that are tested, it supports this one's Keras.
SUPPORTED = tf.__version__.startswith("2.15.")
if SUPPORTED:
    from tensorflow_model_optimization.python.core.sparsity.keras import prune, pruning_callbacks, pruning_schedule

needs_tfmot = pytest.mark.skipif(not SUPPORTED, reason="tfmot supports no other TensorFlow that is tested")
KIT = kits.kits()[sorted(kits.kits())[0]]


def checkerboard(shape):
    """Large and small ones in turn, so that each unit keeps some of its weights, and none alike."""
    large = np.indices(shape).sum(axis=0) % 2
    return np.where(large, 0.9, 0.3) * np.linspace(0.7, 1.0, large.size).reshape(shape)


def pruned_model():
    keras = tf.keras
    model = keras.Sequential(
        [
            keras.layers.InputLayer((2, 2)),
            keras.layers.LSTM(3, name="memory"),
            keras.layers.Dense(3, name="hidden", activation="tanh"),
            keras.layers.Dense(2, name="out"),
        ]
    )
    model.set_weights([checkerboard(w.shape) for w in model.get_weights()])
    pruned = prune.prune_low_magnitude(model, pruning_schedule.ConstantSparsity(0.5, 0, frequency=1))
    pruned.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
    return pruned


def fit(model, **options):
    model.fit(kits.X.reshape(6, 2, 2), kits.Y, batch_size=2, shuffle=False, verbose=0, **options)


@needs_tfmot
def test_what_was_pruned_stays_zero():
    """One spec for the pruned model and for the stripped one; there the zeros hold and all else trains."""
    pruned = pruned_model()
    fit(pruned, callbacks=[pruning_callbacks.UpdatePruningStep()])
    spec = fc.FreezeSpec.from_pruned(pruned)
    model = prune.strip_pruning(pruned)
    masks = fc.build_masks(spec, fc.list_weights(model))
    assert list(masks) == ["memory/kernel", "memory/recurrent_kernel", "hidden/kernel", "out/kernel"]
    for address, mask in fc.build_masks(spec, fc.list_weights(pruned)).items():
        assert (mask == masks[address]).all()
    model.compile(optimizer=tf.keras.optimizers.Adam(0.05), loss="mse")
    frozen = fc.freeze(model, spec)
    addresses = [row.address for row in fc.list_weights(model)]
    before = kits.values(model)
    for address, values in zip(addresses, before):
        if address in masks:
            assert (masks[address] == (values == 0)).all() and masks[address].sum() >= values.size // 2
    fit(model)
    kits.assert_held_and_free_moved(before, kits.values(model), masks, addresses)
    frozen.verify()


@needs_tfmot
def test_nothing_pruned_yet():
    with pytest.raises(
        fc.SpecValueError, match="nothing is pruned yet in memory/kernel, memory/recurrent_kernel, hidden"
    ):
        fc.FreezeSpec.from_pruned(pruned_model())


@pytest.mark.parametrize("what", ["model", "array"])
def test_what_is_not_pruned(what):
    """A plain model, or no model at all."""
    given = KIT.model() if what == "model" else np.zeros(3)
    with pytest.raises(fc.ArgumentError, match=r"no layer that prunes.*before strip_pruning.*elements.zeros\(\)"):
        fc.FreezeSpec.from_pruned(given)
