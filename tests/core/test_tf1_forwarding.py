"""`freezecompat.tf1` on stand-ins for TensorFlow: what it forwards, when it imports, how it fails."""

import subprocess
import sys
import types

import pytest

from freezecompat import tf1
from freezecompat.exceptions import MissingDependency


def module(name, **attributes):
    made = types.ModuleType(name)
    vars(made).update(attributes)
    return made


class Keras3Loader(types.ModuleType):
    """Like TensorFlow's lazy loader of Keras 2 names under Keras 3: every look-up fails, and dir() cannot import."""

    def __getattr__(self, name):
        raise AttributeError("`{}` is not available with Keras 3.".format(name))

    def __dir__(self):
        raise ImportError("No module named 'keras._tf_keras.keras.__internal__'")


def keras2():
    return module(
        "v1",
        __version__="2.15.1",
        layers=module("layers", Dense=object(), dense=object()),
        nn=module("nn", relu=object(), rnn_cell=module("rnn_cell", LSTMCell=object())),
        train=module("train"),
    )


def keras3():
    return module(
        "v1",
        __version__="2.21.0",
        layers=Keras3Loader("layers"),
        nn=module("nn", relu=object(), rnn_cell=Keras3Loader("rnn_cell")),
        train=module("train"),
    )


@pytest.fixture
def install(monkeypatch):
    """Puts a stand-in where `import tensorflow` finds it."""

    def install(v1):
        tensorflow = module("tensorflow", __version__=v1.__version__, compat=module("compat", v1=v1))
        monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
        return v1

    return install


def test_tf2_is_forwarded_to_compat_v1(install):
    """Every name is the very object of tf.compat.v1."""
    v1 = install(keras2())
    assert tf1.train is v1.train and tf1.layers is v1.layers and tf1.nn is v1.nn
    assert tf1.__version__ == "2.15.1"
    assert {"train", "layers", "nn"} <= set(dir(tf1))


def test_tf1_is_forwarded_to_the_top(monkeypatch):
    """A real TensorFlow 1 is forwarded as a whole, with contrib."""
    real = module("tensorflow", __version__="1.15.5", Session=object(), contrib=object(), layers=object())
    monkeypatch.setitem(sys.modules, "tensorflow", real)
    assert tf1.contrib is real.contrib and tf1.Session is real.Session and tf1.layers is real.layers


def test_later_changes_are_seen(install):
    """Nothing is cached: what a user puts into tf.compat.v1 is there."""
    v1 = install(keras2())
    assert not hasattr(tf1, "mine")
    v1.mine = 3
    assert tf1.mine == 3


def test_unknown_name(install):
    """The usual text for a name that no TensorFlow had."""
    install(keras2())
    with pytest.raises(AttributeError, match="^module 'freezecompat.tf1' has no attribute 'no_such_name'$"):
        tf1.no_such_name


@pytest.mark.parametrize(
    "name, instead",
    [
        ("contrib", "tf.keras.optimizers.AdamW for contrib.opt.AdamWOptimizer"),
        ("estimator", "tf.train.MonitoredTrainingSession"),
        ("pywrap_tensorflow", "tf.train.load_checkpoint"),
    ],
)
def test_what_ended_names_what_took_its_place(install, name, instead):
    """A part that TensorFlow 2 dropped is an AttributeError with a way out."""
    install(keras2())
    with pytest.raises(AttributeError, match=instead):
        getattr(tf1, name)
    assert not hasattr(tf1, name)


@pytest.mark.parametrize(
    "path, instead",
    [
        ("layers.dense", r"tf\.layers\.dense needs Keras 2.*Use tf\.keras\.layers\.Dense, or `pip install tf-keras`"),
        ("layers.Conv2D", r"Use tf\.keras\.layers\.Conv2D,"),
        ("nn.rnn_cell.BasicLSTMCell", r"tf\.nn\.rnn_cell\.BasicLSTMCell needs Keras 2.*tf\.keras\.layers\.LSTMCell,"),
        ("nn.rnn_cell.no_such_cell", "^module 'tf.nn.rnn_cell' has no attribute 'no_such_cell'$"),
        ("nn.no_such_op", "^module 'tf.nn' has no attribute 'no_such_op'$"),
    ],
)
def test_what_keras_3_lacks(install, path, instead):
    """The names that Keras 3 emptied say what to use, at any depth."""
    install(keras3())
    *above, name = path.split(".")
    found = tf1
    for part in above:
        found = getattr(found, part)
    with pytest.raises(AttributeError, match=instead):
        getattr(found, name)


def test_the_rest_of_nn_is_forwarded_under_keras_3(install):
    """Only what is missing is replaced; setting an attribute reaches the module itself."""
    v1 = install(keras3())
    assert tf1.nn.relu is v1.nn.relu
    assert tf1.nn is tf1.nn and tf1.layers is tf1.layers
    tf1.nn.mine = 3
    assert v1.nn.mine == 3
    assert {"relu", "rnn_cell"} <= set(dir(tf1.nn))
    assert dir(tf1.layers) == []


def test_without_tensorflow(monkeypatch):
    """A missing TensorFlow is an ImportError that names the extra."""
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingDependency, match=r'pip install "freezecompat\[tensorflow\]"'):
        tf1.train
    with pytest.raises(ImportError):
        dir(tf1)


def test_tensorflow_that_does_not_import(monkeypatch, tmp_path):
    """An installed TensorFlow that fails tells its own reason."""
    (tmp_path / "tensorflow.py").write_text("import a_missing_part_of_it")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    with pytest.raises(ImportError, match="a_missing_part_of_it"):
        tf1.train


PROTOCOL = """
import sys
from freezecompat import tf1 as tf
import inspect, freezecompat
names = ("__path__", "__wrapped__", "__all__", "__iter__", "__bases__", "_repr_html_", "_pytestfixturefunction")
assert not any(hasattr(tf, name) for name in names)
inspect.unwrap(tf); inspect.ismodule(tf); repr(tf)
from freezecompat.tf1 import __doc__
assert "tensorflow" not in sys.modules and not any(name.startswith("keras") for name in sys.modules)
"""


def test_looking_it_over_imports_nothing():
    """Importing the alias imports no TensorFlow, nor do the look-ups of Python and of tools."""
    subprocess.run([sys.executable, "-c", PROTOCOL], check=True)


def test_no_name_of_its_own_hides_one_of_tensorflow():
    """Whatever this module defines begins with an underscore."""
    assert [name for name in vars(tf1) if not name.startswith("_")] == []
