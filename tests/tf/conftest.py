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
    """Keras 2 in graph mode trains without TensorFlow's arithmetic rewriting."""
    import runtimes

    runtimes.set_session_as_written()


@pytest.fixture
def shows(request, record_property):
    """Says what the test has shown of its case: a column of docs/guarantees.md, and the cell."""
    record_property("table", request.module.__doc__.splitlines()[0])
    record_property("row", request.node.callspec.id)
    return record_property
