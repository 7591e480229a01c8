"""Every way to train that the TensorFlow at hand offers in this mode, with the optimizers of each."""

import importlib
import os

import tensorflow as tf

import programs

v1 = tf.compat.v1
EAGER = tf.executing_eagerly()
TF1 = tf.__version__.startswith("1.")


def keras_packages():
    """{name: module} of each Keras at hand; under TF 2.16 and later Keras 3 and, if it is installed, tf-keras."""
    if all(base.__name__ != "KerasSaveable" for base in tf.keras.Model.__mro__):  # TF 2.11 to 2.15 hide the version
        return {"tf.keras": tf.keras}
    found = {"keras3": importlib.import_module("keras")}
    if os.environ.get("FREEZECOMPAT_BLOCK_TF_KERAS") != "1":
        try:
            found["tf_keras"] = importlib.import_module("tf_keras")
        except ImportError:
            pass
    return found


def number_names_anew():
    """Let the names that a Keras gives count from the start, without its search for garbage, which takes a second here."""
    for keras in keras_packages().values():
        if hasattr(keras.backend, "reset_uids"):
            keras.backend.reset_uids()
        else:  # Keras 3
            keras.backend.clear_session(free_memory=False)


def set_session_as_written():
    """Let Keras 2 in graph mode train in a `session_as_written`."""
    if not EAGER and "tf.keras" in keras_packages():
        v1.keras.backend.set_session(session_as_written())


def v1_optimizers():
    return {
        "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
        "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
        "adam": lambda: v1.train.AdamOptimizer(0.05),
        # Rebuilds each weight from its slots: it shows that the correction is made, which the others hardly need.
        "ftrl": lambda: v1.train.FtrlOptimizer(0.5),
    }


def keras_optimizers(module):
    found = {
        "sgd": lambda: module.SGD(learning_rate=0.1),
        "momentum": lambda: module.SGD(learning_rate=0.1, momentum=0.9),
        "adam": lambda: module.Adam(learning_rate=0.05),
    }
    if hasattr(module, "AdamW"):
        found["adamw"] = lambda: module.AdamW(learning_rate=0.05, weight_decay=0.1)
    return found


def keras_optimizer_modules():
    """(package, its module, "" or "legacy-", module of optimizers) of each family that trains in this mode."""
    for package, keras in keras_packages().items():
        legacy = getattr(keras.optimizers, "legacy", None) if package != "keras3" else None
        # Keras 3 has no graph mode of its own; on 2.11 to 2.15 the new classes fail there without us: no get_updates.
        if EAGER or (package == "tf.keras" and legacy is None):
            yield package, keras, "", keras.optimizers
        if legacy is not None and (EAGER or package == "tf.keras"):
            yield package, keras, "legacy-", legacy


def optimizers():
    """{id: function that makes an optimizer} of every API that trains in this mode."""
    found = {"tf.train " + name: make for name, make in v1_optimizers().items()}
    for package, _, family, module in keras_optimizer_modules():
        for name, make in keras_optimizers(module).items():
            found["{} {}{}".format(package, family, name)] = make
    return found


def program(cls, make, **options):
    """A function of oracle=False that makes a program with an optimizer of `make`."""
    return lambda oracle=False: cls(make(), oracle, fresh=make, **options)


def runtimes(change=lambda program: program):
    """{id: function of oracle=False that makes a program}; `change` gives a class to take instead of a program's."""
    found = {}
    if EAGER:
        v1_programs = {
            "tf1-eager": programs.Tape,
            "tf1-function": programs.Function,
            "tf1-minimize": programs.TapeMinimize,
        }
        keras_programs = {
            "train_on_batch": programs.KerasModel,
            "run_eagerly": programs.KerasEager,
            "fit": programs.KerasFit,
            "tape": programs.KerasTape,
            "function": programs.KerasFunction,
        }
    else:
        v1_programs = {"graph-resource": programs.Graph, "graph-reference": programs.ReferenceGraph}
        keras_programs = {"train_on_batch": programs.KerasModel, "fit": programs.KerasFit}
    v1_programs = {name: change(cls) for name, cls in v1_programs.items()}
    keras_programs = {name: change(cls) for name, cls in keras_programs.items()}
    for name, cls in v1_programs.items():
        for optimizer, make in v1_optimizers().items():
            found["{}-{}".format(name, optimizer)] = program(cls, make)
    for package, keras, family, module in keras_optimizer_modules():
        for name, cls in keras_programs.items():
            if package == "tf_keras" and name not in ("fit", "function"):
                continue  # the code of tf.keras 2.15, where all of them run
            for optimizer, make in keras_optimizers(module).items():
                found["{}-{}-{}{}".format(package, name, family, optimizer)] = program(cls, make, keras=keras)
    for package, keras in keras_packages().items():
        if package != "keras3" and not (package == "tf_keras" and not EAGER):
            for name in ("fit", "train_on_batch"):
                for optimizer in ("adam", "ftrl"):
                    identity = "{}-{}-tf.train-{}".format(package, name, optimizer)
                    found[identity] = program(keras_programs[name], v1_optimizers()[optimizer], keras=keras)
    return found


def session_as_written():
    """A session of the default graph without TensorFlow's arithmetic rewriting.

    It turns (g * g) * c into g * (g * c), one ULP away, or leaves it, and which of the two depends on any other op that
    the graph has: TF 1.15, the sparse update of Keras' Adam, where with constant folding off the oracle alone changes too.
    """
    config = v1.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.arithmetic_optimization = type(rewriting).OFF
    return v1.Session(config=config)
