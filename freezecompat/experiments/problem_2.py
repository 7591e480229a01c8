"""Problem 2: two elements of a Keras kernel, hidden/kernel[1, 2] and [3, 1], keep their bits under Adam."""

from typing import Any, List, Tuple

import numpy as np

TITLE = "Problem 2: hidden/kernel[1, 2] and [3, 1] of a 4-3-2 network, Adam"
SPEC = {"hidden/kernel": [(1, 2), (3, 1)]}
# epsilon is named although this is the default here: tf.train's own is 1e-8, Keras' is 1e-7.
OPTIMIZER = {"name": "adam", "learning_rate": 0.001, "epsilon": 1e-7}
LOSS = "mse"
STEPS = 50
BATCH_SIZE = 20
# Measured on 1.13.2, 1.15.5, 2.0.4, 2.4.4, 2.8.4, 2.15.1 and 2.21.0, 26 runs: 0 between the loop styles of one optimizer
# class, 7 between the two furthest apart. The rest is for the rounding of other processors.
TOLERANCE_ULP = 16


def build(keras: Any) -> Any:
    """The model of the question."""
    return keras.Sequential(
        [
            keras.layers.Dense(4, activation="relu", input_shape=(4,), name="first"),
            keras.layers.Dense(3, activation="relu", name="hidden"),
            keras.layers.Dense(2, activation="sigmoid", name="last"),
        ]
    )


def initial_weights() -> List[np.ndarray]:
    """The hidden kernel that the question prints, between layers of which every unit is active on some rows.

    The biases are not 0: a ULP of a number near 0 is too small a measure for a difference that comes from elsewhere.
    """
    return [
        np.array([[0.4, -0.3, 0.2, -0.1], [0.3, 0.5, -0.4, 0.2], [-0.2, 0.6, 0.5, -0.3], [0.5, -0.1, 0.3, 0.2]]),
        np.full(4, 0.5),
        np.array(
            [
                [-0.05557871, 0.10941017, -0.59108734],
                [0.37056673, 0.2968588, 0.14362943],
                [-0.05471832, -0.21425706, 0.6455065],
                [-0.7883829, -0.23868048, -0.517396],
            ],
            np.float32,
        ),
        np.full(3, 0.5),
        np.array([[0.7, -0.5], [-0.4, 0.6], [0.5, 0.3]]),
        np.full(2, -0.5),
    ]


def data() -> Tuple[np.ndarray, np.ndarray]:
    """A hundred rows, as in the answer, from a generator whose stream no numpy release changes."""
    random = np.random.RandomState(0)
    return random.rand(100, 4).astype(np.float32), random.rand(100, 2).astype(np.float32)
