"""Train one experiment under several APIs, one process each, and compare what they made of the weights.

An experiment is a Python file that defines

    build(keras)         a model, built or not
    initial_weights()    arrays in get_weights() order
    data()               x, y: arrays with the same number of rows
    SPEC                 what FreezeSpec takes
    OPTIMIZER            {"name": "adam", "learning_rate": 0.01, ...}
    LOSS                 "mse", "mae", "binary_crossentropy", "categorical_crossentropy", or a function of TensorFlow, y
                         and the prediction that returns a scalar
    STEPS                optimizer steps
    TOLERANCE_ULP        how far apart a free element of two runs may be
    BATCH_SIZE           optional; by default all rows. Batches in order, from the start again at the end
    TITLE                optional

Weights and data are arrays, so that initializers and random streams play no part.
"""

from .apis import APIS
from .doctor import doctor
from .progress import Event
from .runner import run_parity

__all__ = ["APIS", "Event", "doctor", "run_parity"]
