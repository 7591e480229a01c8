"""Fifty steps with random draws, and all that comes of them: what an invisible library must not change.

    python fifty_steps.py MODE

prints digests of one training, in a process that knows nothing of the library.
"""

import hashlib
import json
import os
import random
import sys
import tempfile

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
STEPS = 50


class Plain:
    """A training without the library."""

    before_compile = False

    def freeze(self, target, optimizer=None, session=None):
        """Called where a user freezes: before the train op is built."""

    def step(self, number, session=None):
        """Called before each step."""


def begin(seed):
    """An empty graph, names that count from the start, and one seed for everything that draws."""
    import runtimes

    v1.keras.backend.clear_session()
    if runtimes.EAGER:
        runtimes.number_names_anew()
    for keras in runtimes.keras_packages().values():
        if not runtimes.EAGER:
            keras.backend.clear_session()
        if hasattr(keras.utils, "set_random_seed"):
            keras.utils.set_random_seed(seed)
    if not runtimes.EAGER:
        v1.reset_default_graph()
        runtimes.set_session_as_written()
    random.seed(seed)
    np.random.seed(seed)
    v1.set_random_seed(seed)


def later_draws(run):
    """Draws after the training. In a graph the ops of ours number those made after them: these have a seed of their own."""
    seed = None if tf.executing_eagerly() else 5
    op = run(tf.random.uniform((3,), seed=seed))
    return {"python": np.array(random.random()), "numpy": np.random.uniform(size=3), "op": np.array(op)}


def named(variables, read):
    """[name, values] of each, in their order."""
    return [[variable.name, np.array(value)] for variable, value in zip(variables, read(list(variables)))]


def of_optimizer(optimizer, read):
    """What the optimizer remembers, and the names of its attributes, hooks of ours left out."""
    import kits

    optimizer = getattr(optimizer, "optimizer", optimizer)  # out of Keras' TFOptimizer
    attributes = [name for name, one in vars(optimizer).items() if "freezecompat" not in type(one).__module__]
    return {"attributes": sorted(attributes), "variables": named(kits.optimizer_variables(optimizer), read)}


def of_graph(read):
    """All variables of the graph, and the names that its collections list."""
    graph = v1.get_default_graph()
    keys = ("variables", "trainable_variables", "local_variables", "update_ops", "train_op", "global_step")
    listed = {key: [one.name for one in graph.get_collection(key)] for key in keys}
    return {"values": named(v1.global_variables(), read), "collections": listed}


def written(save):
    """{name: bytes} of the files that `save`, given a path, writes; what says when, or holds the graph, left out."""
    with tempfile.TemporaryDirectory() as folder:
        save(os.path.join(folder, "saved"))
        found = {}
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".meta") and name != "checkpoint":
                with open(os.path.join(folder, name), "rb") as file:
                    found[name] = file.read()
        assert found
        return found


def of_program(make, way=Plain(), seed=7):
    """Train a program of programs.py that drops by chance; in a graph, with random initial values too."""
    begin(seed)
    graph = not tf.executing_eagerly()
    initial = v1.get_variable("initial", (3,), initializer=v1.random_uniform_initializer()) if graph else None
    program = make()
    session, run, model = program.session, program.run, hasattr(program, "model")
    read = run if graph else lambda variables: [run(v) for v in variables]
    way.freeze(program.target, None if model else program.optimizer, session)
    between = tf.random.uniform((3,)) if graph else None
    program.finish()
    if model and graph:
        session.run(initial.initializer)
    found = {"losses": []}
    for step in range(STEPS):
        way.step(step, session)
        found["losses"].append(np.array(program.train(step % 10)))
    found["weights"] = program.values()
    found["optimizer"] = of_optimizer(program.optimizer, read)
    found["draws"] = later_draws(run if graph else np.array)
    if graph:
        found["graph"] = of_graph(read)
        found["draws"]["between"] = run(between)
        found["files"] = written(lambda path: v1.train.Saver().save(session, path))
    else:
        tracked = dict(program.weights.variables, optimizer=getattr(program.optimizer, "optimizer", program.optimizer))
        found["files"] = written(tf.train.Checkpoint(**tracked).save)
    found["name of the next variable"] = v1.Variable(1.0, name="kernel").name
    return found


def of_keras(kit, way=Plain(), seed=7):
    """fit, shuffled and with dropout, then train_on_batch; random initial weights; what is predicted and saved."""
    import kits
    import saved

    begin(seed)
    keras, eager = kit.keras, tf.executing_eagerly()
    run = None if eager else v1.keras.backend.get_session().run
    read = run or (lambda variables: [kits.array(v) for v in variables])
    model = keras.Sequential(
        [
            keras.layers.InputLayer((4,)),
            keras.layers.Dense(6, name="hidden", activation="tanh"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(2, name="out"),
        ]
    )
    if way.before_compile:
        way.freeze(model)
    model.compile(optimizer=kit.adam(), loss="mse", metrics=["mae"])
    if not way.before_compile:
        way.freeze(model)
    found = {"initial": kits.values(model), "losses": []}
    if eager:
        found["dropped"] = model(kits.X, training=True).numpy()
    for step in (0, 15):
        way.step(step)
        history = model.fit(kits.X, kits.Y, batch_size=2, epochs=5, shuffle=True, verbose=0)
        found["losses"].append({name: np.array(v) for name, v in history.history.items()})
    for step in range(30, STEPS):
        way.step(step)
        found["losses"].append(np.array(model.train_on_batch(kits.X, kits.Y)))
    found["weights"] = kits.values(model)
    found["optimizer"] = of_optimizer(model.optimizer, read)
    found["names"] = [v.name for v in model.weights] + [keras.layers.Dense(1).name]
    found["draws"] = later_draws(run or np.array)
    found["predicted"] = model.predict(kits.X, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        found["files"] = saved.save_h5(model, os.path.join(folder, "saved"))
    return found


def leaves(found, where=()):
    """{path: text, number or digest} of the dicts and lists that were found."""
    if isinstance(found, (dict, list)):
        pairs = found.items() if isinstance(found, dict) else enumerate(found)
        return {path: leaf for name, one in pairs for path, leaf in leaves(one, where + (str(name),)).items()}
    if isinstance(found, (str, int)):
        return {where: found}
    content = found if isinstance(found, bytes) else np.asarray(found).tobytes()
    return {where: hashlib.sha256(content).hexdigest()}


def first_program():
    """The name of a program that every runtime has."""
    return "tf1-function-adam" if tf.executing_eagerly() else "graph-resource-adam"


def main(mode):
    (v1.enable_eager_execution if mode == "eager" else v1.disable_eager_execution)()
    import programs
    import runtimes

    found = leaves(of_program(runtimes.runtimes(programs.noisy)[first_program()]))
    assert "freezecompat" not in sys.modules
    print(json.dumps([["/".join(path), leaf] for path, leaf in found.items()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
