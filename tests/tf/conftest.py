"""Each test of graph mode begins with a graph of its own."""

import pytest


@pytest.fixture(autouse=True)
def fresh_graph():
    import tensorflow as tf  # not above: pytest may read this file before the mode is set

    if not tf.executing_eagerly():
        tf.compat.v1.keras.backend.clear_session()
        tf.compat.v1.reset_default_graph()


@pytest.fixture
def graph_as_written(fresh_graph):
    """Keras 2 in graph mode trains without TensorFlow's arithmetic rewriting.

    It turns (g * g) * c into g * (g * c), one ULP away, or leaves it, and which of the two depends on any other op that
    the graph has: TF 1.15, the sparse update of Keras' Adam, where with constant folding off the oracle alone changes too.
    """
    import runtimes

    if runtimes.EAGER or "tf.keras" not in runtimes.keras_packages():
        return
    config = runtimes.v1.ConfigProto()
    rewriting = config.graph_options.rewrite_options
    rewriting.arithmetic_optimization = type(rewriting).OFF
    runtimes.v1.keras.backend.set_session(runtimes.v1.Session(config=config))
