"""Each test of graph mode begins with a graph of its own."""

import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    if not tf.executing_eagerly():
        tf.compat.v1.keras.backend.clear_session()
        tf.compat.v1.reset_default_graph()
