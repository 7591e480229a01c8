"""Each test of graph mode begins with a graph of its own."""

import pytest


@pytest.fixture(autouse=True)
def fresh_graph():
    import tensorflow as tf  # not above: pytest may read this file before the mode is set

    if not tf.executing_eagerly():
        tf.compat.v1.keras.backend.clear_session()
        tf.compat.v1.reset_default_graph()
