"""`freezecompat.tf1` on the TensorFlow at hand."""

import subprocess
import sys
import types

import pytest
import tensorflow

from freezecompat import tf1

REAL = tensorflow if hasattr(tensorflow, "Session") else tensorflow.compat.v1


def test_every_name_is_forwarded():
    """What TensorFlow has under a name is what the alias gives.

    `layers` and `nn` may be stand-ins under Keras 3, and TensorFlow itself exchanges some modules when they are first used.
    """
    names = [name for name in dir(REAL) if not name.startswith("_")]
    assert len(names) > 500
    modules = {name for name in names if isinstance(getattr(REAL, name), types.ModuleType)}
    assert [name for name in names if name not in modules and getattr(tf1, name) is not getattr(REAL, name)] == []
    assert [name for name in modules - {"layers", "nn"} if not isinstance(getattr(tf1, name), types.ModuleType)] == []
    assert set(names) <= set(dir(tf1))


def test_keras_2_is_forwarded_as_a_whole():
    """Stand-ins are for Keras 3 alone."""
    if hasattr(REAL.layers, "Dense"):
        assert tf1.layers is REAL.layers and tf1.nn is REAL.nn
    else:
        assert tf1.nn.relu is REAL.nn.relu
        with pytest.raises(AttributeError, match=r"Use tf\.keras\.layers\.Dense, or `pip install tf-keras`"):
            tf1.layers.dense
        with pytest.raises(AttributeError, match=r"Use tf\.keras\.layers\.LSTMCell, or"):
            tf1.nn.rnn_cell.BasicLSTMCell


@pytest.mark.parametrize("name", ["contrib", "estimator"])
def test_what_ended(name):
    """A part that this TensorFlow no longer has says what took its place."""
    if name in dir(REAL) or hasattr(REAL, name):
        assert getattr(tf1, name) is getattr(REAL, name)
    else:
        with pytest.raises(AttributeError, match="tf.{} ended with TensorFlow".format(name)):
            getattr(tf1, name)


@pytest.mark.parametrize("name", ["Session", "placeholder", "enable_eager_execution", "disable_eager_execution"])
def test_what_tf1_scripts_begin_with(name):
    """The names that a TF1 script needs first are there in every version."""
    assert callable(getattr(tf1, name))
    assert tf1.train.GradientDescentOptimizer is REAL.train.GradientDescentOptimizer


def test_nothing_is_switched():
    """Using the alias turns nothing on or off, and sets no environment variable."""
    program = """
import os
before = dict(os.environ)
import tensorflow
after = dict(os.environ)
eager = tensorflow.executing_eagerly()
from freezecompat import tf1 as tf
tf.train.AdamOptimizer, tf.nn, tf.layers, tf.keras
assert tensorflow.executing_eagerly() == eager and dict(os.environ) == after
"""
    subprocess.run([sys.executable, "-c", program], check=True)
