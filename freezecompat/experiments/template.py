"""An experiment for `freezecompat parity`: change it to your own, and run

    freezecompat parity THIS_FILE.py
    freezecompat parity THIS_FILE.py --python .venv-tf115 --python .venv-tf215

The file is read by every Python that takes part, before TensorFlow is imported: import nothing but numpy at the top, and
what else you need inside build().
"""

import numpy as np

# Optional; the heading of the table.
TITLE = "Rows of a small network, held under Adam"

# What is frozen: {address: elements}, as in fc.freeze. `fc.list_weights(model)` shows the addresses. "#0", the position
# among the trainable weights, will do as well if it is the same weight everywhere.
SPEC = {"hidden/kernel": [(0, 1), (2, 2)], "last/bias": "all"}

# By name and options; every default is the same number under every API. docs/parity.md has the table of optimizers, of
# their options, and of what is refused because the APIs compute different things.
OPTIMIZER = {"name": "adam", "learning_rate": 0.01}

# "mse", "mae", "binary_crossentropy", "categorical_crossentropy", or a function that returns a scalar:
#
#     def LOSS(tf, y, prediction):
#         return tf.reduce_mean(tf.square(prediction - y))
#
LOSS = "mse"

# Optimizer steps, and rows for each: batches in order, from the start again at the end. Without BATCH_SIZE: all rows.
STEPS = 20
BATCH_SIZE = 8

# How many floats may lie between a free element of two runs. 0 asks for the same bits. Run it once, look at the table,
# and write down what you found: then a change of any bit is seen.
TOLERANCE_ULP = 64


def build(keras):
    """The model, built or not. `keras` is tf.keras (tf.compat.v1.keras in a graph): write for the oldest that you use."""
    return keras.Sequential(
        [
            keras.layers.Dense(3, activation="tanh", input_shape=(4,), name="hidden"),
            keras.layers.Dense(2, name="last"),
        ]
    )


def initial_weights():
    """Arrays in the order of model.get_weights(); no initializer plays a part. Your own could come from np.load."""
    random = np.random.RandomState(1)
    return [random.uniform(-1, 1, shape) for shape in ((4, 3), (3,), (3, 2), (2,))]


def data():
    """x and y: arrays with the same number of rows."""
    random = np.random.RandomState(2)
    return random.rand(32, 4).astype(np.float32), random.rand(32, 2).astype(np.float32)
