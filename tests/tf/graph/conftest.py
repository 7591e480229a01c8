"""Keras 3 has no training of its own in a graph: that file is for a TensorFlow whose tf.keras is Keras 2."""

import runtimes

collect_ignore = [] if "tf.keras" in runtimes.keras_packages() else ["test_graph_keras_2.py"]
