"""Checkpoints and SavedModels of a graph that is trained under a freeze."""

import os

import numpy as np
import tensorflow as tf

import exported
import freezecompat as fc
import kits
from graph_kit import v1


def test_graphs(tmp_path):
    """A TF1 graph keeps the ops that its step is made of, all of TensorFlow's own; checkpoints hold no variable of ours."""
    x, y = v1.placeholder(tf.float32, [None, 4], "x"), v1.placeholder(tf.float32, [None, 3], "y")
    variables = [v1.get_variable(name, initializer=value) for name, value in zip("ab", kits.WEIGHTS)]
    prediction = tf.add(tf.matmul(x, variables[0]), variables[1], name="prediction")
    optimizer = v1.train.AdamOptimizer(0.05)
    frozen = fc.freeze({"hidden/kernel": variables[0], "hidden/bias": variables[1]}, kits.SPEC, optimizer=optimizer)
    optimizer.minimize(tf.reduce_mean(tf.square(prediction - y)), name="train")
    folder = str(tmp_path)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run("train", {x: kits.X, y: np.ones((6, 3))})
        frozen.verify(session)
        np.save(os.path.join(folder, "x.npy"), kits.X)
        np.save(os.path.join(folder, "expected.npy"), session.run(prediction, {x: kits.X}))
        path = v1.train.Saver().save(session, os.path.join(folder, "saver"))
        v1.saved_model.simple_save(session, os.path.join(folder, "exported"), {"x": x}, {"prediction": prediction})
    named = [name for name, _ in tf.train.list_variables(path)]
    assert named == sorted(variable.op.name for variable in v1.global_variables())
    graphs = {"saver.meta", os.path.join("exported", "saved_model.pb")}
    assert set(exported.files_that_name_us(folder)) <= graphs
    assert exported.loaded_without_us(folder, "graph") == ["saver", "exported"]
