"""A small Keras model in a graph, for the tests of graph mode."""

import numpy as np

HIDDEN = np.array([[0.5, -0.25, 0.75], [-0.5, 1.0, 0.125], [0.25, -1.0, 0.5], [-0.75, 0.375, -0.0]], "f4")
VALUES = [HIDDEN, np.array([0.1, -0.2, 0.3], "f4"), np.array([[0.5], [0.25], [-1.0]], "f4"), np.array([0.05], "f4")]
ADDRESSES = ["hidden/kernel", "hidden/bias", "out/kernel", "out/bias"]
SPEC = {"hidden/kernel": [(1, 2), (3, 2)], "out/kernel": (1, 0)}
X = np.array([[1.0, 0.5, -0.5, 0.25], [-0.75, 1.0, 0.5, -1.0], [0.5, -1.0, 1.0, 0.75], [-0.25, 0.25, -0.75, 0.5]], "f4")
Y = np.array([[1.0], [0.5], [-0.5], [0.75]], "f4")


def build(keras):
    return keras.Sequential(
        [
            keras.layers.InputLayer((4,)),
            keras.layers.Dense(3, name="hidden", activation="tanh"),
            keras.layers.Dense(1, name="out"),
        ]
    )


def assert_moved(before, after, masks):
    for address, old, new in zip(ADDRESSES, before, after):
        mask = masks.get(address, np.zeros(old.shape, bool))
        assert new[mask].tobytes() == old[mask].tobytes(), "{}: a frozen element moved".format(address)
        assert (new != old)[~mask].all(), "{}: a free element stands still".format(address)
