"""A small Keras model with literal weights, and the optimizers of every Keras at hand."""

import numpy as np
import tensorflow as tf

import programs
import runtimes

v1 = tf.compat.v1

HIDDEN_KERNEL = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, 0.125], [0.25, -1.0, 0.5], [-0.75, 0.375, -0.0]], "f4")
HIDDEN_BIAS = np.array([0.1, -0.2, 0.3], "f4")
OUT_KERNEL = np.array([[0.5, -0.5], [0.25, 1.0], [-1.0, 0.75]], "f4")
OUT_BIAS = np.array([0.05, -0.15], "f4")
WEIGHTS = [HIDDEN_KERNEL, HIDDEN_BIAS, OUT_KERNEL, OUT_BIAS]
ADDRESSES = ["hidden/kernel", "hidden/bias", "out/kernel", "out/bias"]

SPEC = {"hidden/kernel": [(1, 2), (3, 2)]}
MASKS = {"hidden/kernel": np.array([[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 1]], bool)}
OTHER = {"out/kernel": [(0, 1)]}
OTHER_MASKS = {"out/kernel": np.array([[0, 1], [0, 0], [0, 0]], bool)}

X = np.array(
    [
        [1.0, 0.5, -0.5, 0.25],
        [-0.75, 1.0, 0.5, -1.0],
        [0.5, -1.0, 1.0, 0.75],
        [-0.25, 0.25, -0.75, 0.5],
        [0.125, -0.5, 0.25, -0.625],
        [-1.0, 0.75, 0.625, 0.375],
    ],
    "f4",
)
Y = np.array([[1.0, -1.0], [0.5, 0.25], [-0.5, 1.0], [0.75, -0.25], [-1.0, 0.5], [0.25, 0.125]], "f4")
BATCH = 2


class Kit:
    """One Keras and one family of its optimizers."""

    def __init__(self, keras, module, name):
        self.keras = keras
        self.module = module
        self.name = name

    def sgd(self):
        return self.module.SGD(learning_rate=0.1)

    def momentum(self):
        return self.module.SGD(learning_rate=0.1, momentum=0.9)

    def adam(self, learning_rate=0.05):
        return self.module.Adam(learning_rate=learning_rate)

    def model(self, weights=WEIGHTS):
        keras = self.keras
        model = keras.Sequential(
            [
                keras.layers.InputLayer((4,)),
                keras.layers.Dense(3, name="hidden", activation="tanh"),
                keras.layers.Dense(2, name="out"),
            ]
        )
        model.set_weights(weights)
        return model

    def compiled(self, optimizer=None, **options):
        model = self.model()
        model.compile(optimizer=self.adam() if optimizer is None else optimizer, loss="mse", **options)
        return model


class TrainKit(Kit):
    """Keras models compiled with a `tf.train` optimizer."""

    def sgd(self):
        return v1.train.GradientDescentOptimizer(0.1)

    def momentum(self):
        return v1.train.MomentumOptimizer(0.1, 0.9)

    def adam(self, learning_rate=0.05):
        return v1.train.AdamOptimizer(learning_rate)


def kits(tf_train=False):
    """{id: Kit}; a `tf.train` optimizer trains Keras 2 models only."""
    found = {}
    for package, keras in runtimes.keras_packages().items():
        found[package] = Kit(keras, keras.optimizers, package)
        if package == "keras3":
            continue
        # tf_keras' are those of tf.keras in 2.15, which other runtimes test so; test_every_optimizer takes each of them.
        legacy = getattr(keras.optimizers, "legacy", None) if package == "tf.keras" else None
        if legacy is not None:
            found[package + "-legacy"] = Kit(keras, legacy, package + "-legacy")
        if tf_train:
            found[package + "-tf.train"] = TrainKit(keras, None, package + "-tf.train")
    return found


def graph_kits():
    """{id: Kit} of what trains in graph mode: Keras 2 with its legacy optimizers, or with those of `tf.train`."""
    new = {"tf.keras"} if hasattr(tf.keras.optimizers, "legacy") else set()
    return {name: kit for name, kit in kits(tf_train=True).items() if name.startswith("tf.keras") and name not in new}


def fit(model, epochs=1, **options):
    """Three batches an epoch, in order."""
    return model.fit(X, Y, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0, **options)


def tape_step(model, optimizer, x=X, y=Y):
    """One step of a hand-written loop."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def values(model):
    return [np.array(array) for array in model.get_weights()]


def assert_held_and_free_moved(before, after, masks, addresses=ADDRESSES):
    """The masked elements have the same bytes, and each other one has another value."""
    for address, old, new in zip(addresses, before, after):
        mask = masks.get(address, np.zeros(old.shape, bool))
        assert new[mask].tobytes() == old[mask].tobytes(), "{}: a frozen element moved".format(address)
        assert (new != old)[~mask].all(), "{}: a free element stands still".format(address)


def assert_all_moved(before, after):
    assert_held_and_free_moved(before, after, {})


def optimizer_variables(optimizer):
    """What the optimizer lists as its variables, as values or objects."""
    return programs.listed(optimizer) if hasattr(optimizer, "variables") else []


def array(variable):
    """A variable's values, as numpy."""
    return np.array(getattr(variable, "_value", variable).numpy())


def slots_of(optimizer, shape):
    """{position: values} of what the optimizer holds in that shape, in its own order."""
    return [array(v) for v in optimizer_variables(optimizer) if tuple(v.shape) == tuple(shape)]
