"""Saved and exported models that are frozen: nothing of ours is in the files, and they load where there is no freezecompat."""

import os

import numpy as np
import pytest
import tensorflow as tf

import exported
import freezecompat as fc
import kits
import runtimes

v1 = tf.compat.v1


def frozen_and_trained(kit):
    model = kit.model()
    model.compile(optimizer=kit.adam(), loss=kit.keras.losses.MeanSquaredError())
    frozen = fc.freeze(model, kits.SPEC)
    kits.fit(model)
    frozen.verify()
    return model


def save_everywhere(kit, model, folder):
    """Every file that this Keras can write of a model."""
    keras3 = kit.name == "keras3"
    model.save(os.path.join(folder, "model.h5"))
    if hasattr(model, "get_compile_config"):
        model.save(os.path.join(folder, "model.keras"))
    model.save_weights(os.path.join(folder, "only.weights.h5"))
    tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(os.path.join(folder, "checkpoint"))
    if keras3:
        model.export(os.path.join(folder, "exported"), verbose=False)
    else:
        model.save(os.path.join(folder, "model"), save_format="tf")
        v1.saved_model.save(model, os.path.join(folder, "exported"))


@pytest.mark.parametrize("package", sorted(runtimes.keras_packages()))
def test_models_of_keras(package, tmp_path):
    """Models, weights, checkpoints and SavedModels."""
    kit = kits.kits()[package]
    model = frozen_and_trained(kit)
    folder = str(tmp_path)
    np.save(os.path.join(folder, "x.npy"), kits.X)
    np.save(os.path.join(folder, "expected.npy"), model.predict(kits.X, verbose=0))
    save_everywhere(kit, model, folder)
    assert exported.files_that_name_us(folder) == []
    names = [name for name in sorted(os.listdir(folder)) if name.startswith(("model", "exported"))]
    assert exported.loaded_without_us(folder, "keras" if package == "keras3" else package) == sorted(names)
