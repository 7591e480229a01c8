"""Keras 3 has no training of its own in a graph: those files are for a TensorFlow whose tf.keras is Keras 2."""


def pytest_ignore_collect(collection_path):
    if not collection_path.name.startswith("test_graph_keras_2"):
        return None
    import runtimes  # not above: pytest may read this file before the mode is set

    return None if "tf.keras" in runtimes.keras_packages() else True
