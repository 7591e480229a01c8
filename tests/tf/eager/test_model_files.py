"""Files that Keras and TensorFlow write: what `freezecompat list` and `verify` find in them is what is in the model."""

import json

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes
from freezecompat import cli
from freezecompat.model_files import open_model

PACKAGES = runtimes.keras_packages()
SPEC = {"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": [[1, 2], [3, 1]]}]}


@pytest.fixture(params=sorted(PACKAGES))
def keras(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return PACKAGES[request.param]


def has_archives(keras):
    """Whether the Keras writes .keras archives, and .weights.h5 in its newer format."""
    return not runtimes.TF1 and hasattr(keras, "saving")


def is_keras_3(keras):
    return any(base.__name__ == "KerasSaveable" for base in keras.Model.__mro__)


def model_of_many_layers(keras):
    layers = keras.layers

    def tower(name):
        return keras.Sequential([layers.InputLayer((6,)), layers.Dense(6, name="dense")], name=name)

    inputs = layers.Input((5, 3))
    hidden = layers.Bidirectional(layers.LSTM(2, return_sequences=True, name="lstm"), name="both")(inputs)
    hidden = layers.GRU(3, return_sequences=True, name="gru")(hidden)
    hidden = layers.SeparableConv1D(4, 2, name="separable")(hidden)
    hidden = layers.TimeDistributed(layers.Dense(3, name="inner"), name="each")(hidden)
    hidden = layers.Conv1D(3, 2, use_bias=False, name="conv")(layers.BatchNormalization(name="norm")(hidden))
    hidden = layers.Dense(6, name="kept", trainable=False)(layers.Flatten()(hidden))
    if hasattr(layers, "MultiHeadAttention"):
        heads = layers.Reshape((2, 3))(hidden)
        hidden = layers.Flatten()(layers.MultiHeadAttention(2, 4, name="attention")(heads, heads))
    return keras.Model(inputs, layers.Dense(2, name="out")(tower("b")(tower("a")(hidden))))


def test_files_with_a_config_say_what_the_model_says(keras):
    """Addresses, order, what is trained and what the axes mean: as list_weights says it of the live model."""
    model = model_of_many_layers(keras)
    expected = [row._replace(name=None, handles=(), values=None) for row in fc.list_weights(model)]
    values = dict(zip([row.address for row in expected], model.get_weights()))
    paths = (["model.keras"] if has_archives(keras) else []) + ["model.h5"]
    for path in paths:
        model.save(path)
        file = open_model(path)
        if len({row.name for row in file.rows}) < len(file.rows):  # Keras 2 names the towers' weights alike
            expected = [row._replace(ordinal=None) for row in expected]
        assert [row._replace(name=None) for row in file.rows] == expected
        for row in expected:
            assert file.read(row.address).tobytes() == values[row.address].tobytes()


def save(keras, model, stage):
    """Save a model in every way; {way: path}."""
    found = {"npz": stage + ".npz", "h5": stage + ".h5"}
    np.savez(found["npz"], **dict(zip([row.address for row in fc.list_weights(model)], model.get_weights())))
    model.save(found["h5"])
    if not is_keras_3(keras):
        found["weights"] = stage + "-weights.h5"
        model.save_weights(found["weights"])
    if has_archives(keras):
        found["archive"], found["newer"] = stage + ".keras", stage + ".weights.h5"
        model.save(found["archive"])
        model.save_weights(found["newer"])
    found["objects"] = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(stage + "/ckpt")
    found["folder"] = stage
    found["saved model"] = stage + "-saved"
    if is_keras_3(keras):
        model.export(found["saved model"], verbose=False)
    else:
        model.save(found["saved model"], save_format="tf")
        found["tf weights"] = stage + "-tf"
        model.save_weights(found["tf weights"], save_format="tf")
    return found


def verify(before, after, names=()):
    with open("names.json", "w") as file:
        json.dump(dict(names), file)
    return cli.main(["verify", before, after, "--spec", "spec.json"] + (["--names", "names.json"] if names else []))


def test_what_moved_between_files_of_any_two_formats(keras, tmp_path):
    """Each format before a training with another one after it: 0 for the frozen elements, 1 after one was moved."""
    keras.backend.clear_session()  # TF 1.15 numbers a name that an earlier test has had
    layers = keras.layers
    model = keras.Sequential(
        [layers.InputLayer((4,)), layers.Dense(3, name="hidden", activation="tanh"), layers.Dense(2, name="out")]
    )
    model.compile("adam", "mse")
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    model.fit(x, x[:, :2], verbose=0)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    before = save(keras, model, "before")
    frozen = fc.freeze(model, {"hidden/kernel": [(1, 2), (3, 1)]})
    model.fit(x, x[:, :2], epochs=3, verbose=0)
    frozen.verify()
    after = save(keras, model, "after")
    kernel, *others = model.get_weights()
    kernel[3, 1] += 1
    model.set_weights([kernel] + others)
    moved = save(keras, model, "moved")

    nameless = {"newer"} if not is_keras_3(keras) else set()  # Keras 2 writes no names of layers there
    names = {"dense/kernel": "hidden/kernel"}
    ways = [way for way in before if way not in nameless]
    for k, way in enumerate(ways):
        for other in (ways[k - 1], way):
            assert verify(before[way], after[other]) == 0
            assert verify(before[way], moved[other]) == 1
    for way in nameless & set(before):
        assert verify(before["npz"], after[way]) == 2
        assert verify(before["npz"], after[way], names) == 0
        assert verify(before["npz"], moved[way], names) == 1
    (tmp_path / "spec.json").write_text(json.dumps(dict(SPEC, freeze=[{"weight": "hidden/kernel", "elements": "all"}])))
    assert verify(before["h5"], after["npz"]) == 1  # free elements have moved
