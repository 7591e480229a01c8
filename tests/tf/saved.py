"""What is in the files that a Keras model saves, names and bytes; times of writing and configurations left out."""

import zipfile

import numpy as np
import pytest
import tensorflow as tf


def h5_content(path):
    h5py = pytest.importorskip("h5py")
    found = {}

    def visit(name, item):
        for key in item.attrs:
            if key not in ("training_config", "model_config"):
                found[name + "@" + key] = repr(item.attrs[key])
        if hasattr(item, "dtype"):
            found[name] = np.array(item[()]).tobytes()

    with h5py.File(path, "r") as file:
        visit("", file)
        file.visititems(visit)
    return found


def keras_content(path):
    with zipfile.ZipFile(path) as file:
        names = sorted(file.namelist())
        inner = path + ".inner.h5"
        with open(inner, "wb") as copy:
            copy.write(file.read("model.weights.h5"))
    return {"names": names, "weights": h5_content(inner)}


def checkpoint_content(path):
    reader = tf.train.load_checkpoint(path)
    return {
        name: reader.get_tensor(name).tobytes()
        for name in reader.get_variable_to_shape_map()
        if "save_counter" not in name and name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    }


def save_weights_h5(model, path):
    model.save_weights(path + ".weights.h5")
    return h5_content(path + ".weights.h5")


def save_h5(model, path):
    model.save(path + ".h5")
    return h5_content(path + ".h5")


def save_keras(model, path):
    if tf.__version__.startswith("1.") or not hasattr(model, "get_compile_config"):
        pytest.skip("this Keras has no .keras format")
    model.save(path + ".keras")
    return keras_content(path + ".keras")


def save_checkpoint(model, path):
    return checkpoint_content(tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(path))


SAVES = [save_weights_h5, save_h5, save_keras, save_checkpoint]
