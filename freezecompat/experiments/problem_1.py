"""Problem 1: one weight of a TF1 script, kernel[0, 0] of the first layer, stays exactly 0 under gradient descent."""

from typing import Any, List, Tuple

import numpy as np

TITLE = "Problem 1: kernel[0, 0] of a 2-2-2 network, plain gradient descent"
SPEC = [("#0", (0, 0))]
OPTIMIZER = {"name": "sgd", "learning_rate": 0.01}
LOSS = "mse"
STEPS = 10
# Measured: every API of one TensorFlow computes the same bits; 1.13 to 2.8 and 2.11 to 2.21 are 1 ULP apart, in one element,
# second/kernel[0, 1].
TOLERANCE_ULP = 1


def build(keras: Any) -> Any:
    """The model of the question."""
    return keras.Sequential(
        [
            keras.layers.Dense(2, activation="sigmoid", input_shape=(2,), name="first"),
            keras.layers.Dense(2, activation="sigmoid", name="second"),
        ]
    )


def initial_weights() -> List[np.ndarray]:
    """The values of the question."""
    return [
        np.array([[0, 0.25], [0.2, 0.3]]),
        np.array([0.35, 0.35]),
        np.array([[0.4, 0.5], [0.45, 0.55]]),
        np.array([0.6, 0.6]),
    ]


def data() -> Tuple[np.ndarray, np.ndarray]:
    """One row, as in the question."""
    return np.array([[0.05, 0.10]], np.float32), np.array([[0.01, 0.99]], np.float32)
