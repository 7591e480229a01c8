"""Looks into what is saved of frozen models, and loads it where freezecompat can't be imported."""

import os
import subprocess
import sys
import zipfile

# Run by itself: what it loads must not need us.
LOAD = """
import importlib, os, sys
sys.modules["freezecompat"] = None
import numpy as np
import tensorflow as tf
v1 = tf.compat.v1
folder, package = sys.argv[1:3]
x = np.load(os.path.join(folder, "x.npy"))
expected = np.load(os.path.join(folder, "expected.npy"))

def same(found, name):
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-6), (name, found, expected)
    print(name)

if package == "graph":
    v1.disable_eager_execution()
    with v1.Session(graph=tf.Graph()) as session:
        v1.train.import_meta_graph(os.path.join(folder, "saver.meta")).restore(session, os.path.join(folder, "saver"))
        same(session.run("prediction:0", {"x:0": x}), "saver")
        session.run("train", {"x:0": x, "y:0": expected})
    with v1.Session(graph=tf.Graph()) as session:
        v1.saved_model.loader.load(session, ["serve"], os.path.join(folder, "exported"))
        same(session.run("prediction:0", {"x:0": x}), "exported")
else:
    v1.enable_eager_execution()
    keras = tf.keras if package == "tf.keras" else importlib.import_module(package)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith("model"):
            model = keras.models.load_model(path)
            same(model.predict(x, verbose=0), name)
            assert model.optimizer is not None
        elif name == "exported":
            serve = v1.saved_model.load_v2(path)
            outputs = serve.signatures["serving_default"](tf.constant(x))
            same(list(outputs.values())[0].numpy(), name)
"""


def loaded_without_us(folder, package):
    """The names of what the program above could load."""
    program = os.path.join(folder, "load.py")
    with open(program, "w") as file:
        file.write(LOAD)
    done = subprocess.run(
        [sys.executable, program, folder, package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder
    )
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said
    os.remove(program)
    return [line for line in said.splitlines() if os.path.exists(os.path.join(folder, line)) or line == "saver"]


def files_that_name_us(folder):
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    content = b"".join(archive.read(member) for member in archive.namelist())
            else:
                with open(path, "rb") as file:
                    content = file.read()
            if b"freezecompat" in content.lower():
                found.append(os.path.relpath(path, folder))
    return found
