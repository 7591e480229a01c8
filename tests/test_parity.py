"""`freezecompat parity` trains for real: both problems, and experiments of one's own."""

import json
import os
import subprocess
import sys
import sysconfig
import venv

import jsonschema
import numpy as np
import pytest
import tensorflow as tf

import freezecompat.parity as parity
from freezecompat.exceptions import ArgumentError
from freezecompat.parity import runner
from freezecompat.parity import template
from freezecompat._bits import different_bits

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "docs", "parity.schema.json")

EXPERIMENT = """
import numpy as np

SPEC = {"a/kernel": [(0, 1)], "b/bias": "all"}
OPTIMIZER = {"name": "sgd", "learning_rate": 0.1, "momentum": 0.5, "nesterov": True}
LOSS = "mse"
STEPS = 7
BATCH_SIZE = 2
TOLERANCE_ULP = 16

def build(keras):
    return keras.Sequential([keras.layers.Dense(3, name="a", activation="tanh"), keras.layers.Dense(1, name="b")])

def initial_weights():
    return [np.full((2, 3), 0.5), np.full(3, 0.25), np.full((3, 1), -0.5), np.full(1, 2.0)]

def data():
    return np.arange(10.0).reshape(5, 2) / 10, np.arange(5.0).reshape(5, 1)
"""


@pytest.fixture
def experiment():
    return EXPERIMENT


def final(run):
    return {weight["address"]: np.array(weight["values"], np.float32) for weight in run["weights"]}


@pytest.mark.parametrize("name", ["problem-1", "problem-2"])
def test_both_problems(name, tmp_path):
    """Every API holds the frozen bits and trains the others; the loop styles of one optimizer agree to the bit."""
    path = tmp_path / "result.json"
    command = [sys.executable, "-m", "freezecompat", "parity", name, "--json", str(path)]
    done = subprocess.run(command, cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    result = json.loads(path.read_text())
    assert result["passed"] and [run["api"] for run in result["runs"]] == list(parity.APIS)
    for run in result["runs"]:
        assert (run["status"], run["frozen_held"], run["verify"]) == ("ran", True, None)
        assert run["tensorflow"] == tf.__version__
        assert run["frozen"] == {"problem-1": 1, "problem-2": 2}[name]
        assert run["free_moved"] == run["free"] == {"problem-1": 11, "problem-2": 41}[name]
    distances = {tuple(pair["apis"]): pair["max_ulp"] for pair in result["pairs"]}
    assert distances["tf1-eager", "tf1-graph"] == 0 and distances["keras-fit", "keras-loop"] == 0
    if name == "problem-1":
        assert set(distances.values()) == {0}


def test_template(tmp_path):
    """What --new writes runs and passes, and its result is what the schema says."""
    path = str(tmp_path / "mine.py")
    template.write(path)
    result = parity.run_parity(path)
    assert [run["status"] for run in result["runs"]] == ["ran"] * 4, result["runs"]
    assert result["passed"], result["pairs"]
    assert result["runs"][0]["frozen"] == 4
    with open(SCHEMA) as file:
        jsonschema.validate(json.loads(json.dumps(result, allow_nan=False)), json.load(file))


def test_another_interpreter(tmp_path, monkeypatch):
    """A virtual environment in which freezecompat is not installed trains the same bits; side by side with this one."""
    folder = str(tmp_path / "other")
    venv.create(folder, with_pip=False, symlinks=True)
    site = sysconfig.get_path("purelib", vars={"base": folder, "platbase": folder})
    # All packages of this interpreter but ours, through which freezecompat could be imported too.
    hide = "import sys; sys.modules['freezecompat'] = None"
    places = list(dict.fromkeys(os.path.dirname(os.path.dirname(m.__file__)) for m in (np, tf)))
    with open(os.path.join(site, "here.pth"), "w") as file:
        file.write("\n".join(places + [hide]) + "\n")
    result = parity.run_parity("problem-1", pythons=[folder], apis=["keras-loop"], logs=str(tmp_path / "logs"))
    assert [run["status"] for run in result["runs"]] == ["ran", "ran"], result["runs"]
    assert result["passed"] and result["pairs"][0]["max_ulp"] == 0
    assert result["runs"][1]["interpreter"].startswith(folder)
    name = "{}-keras-loop".format(tf.__version__)
    assert sorted(os.listdir(str(tmp_path / "logs"))) == [name + "-2.log", name + ".log"]


def test_an_experiment_of_ones_own(write):
    """Several batches, a smaller last one, a weight frozen as a whole, an unbuilt model: the same under every API."""
    result = parity.run_parity(write())
    assert [run["status"] for run in result["runs"]] == ["ran"] * 4, result["runs"]
    assert result["passed"], result["pairs"]
    weights = final(result["runs"][0])
    assert list(weights) == ["a/kernel", "a/bias", "b/kernel", "b/bias"]
    assert weights["a/kernel"][0, 1] == 0.5 and weights["b/bias"].tolist() == [2.0]
    assert len(result["runs"][2]["losses"]) == 7
    np.testing.assert_allclose([run["losses"] for run in result["runs"]], [result["runs"][0]["losses"]] * 4, rtol=1e-5)


def test_elements_by_value_and_pins(write):
    """What depends on values is that of the initial ones under each API; a pinned element is held at its value."""
    path = write(
        "from freezecompat.elements import pin, smallest, units",
        "SPEC = [('a/kernel', smallest(2)), ('b', units([0])), ('a/bias', pin((1,), 2.5))]",
        "initial_weights = lambda: [np.arange(6.0).reshape(2, 3) / 7 - 0.5, np.full(3, 0.25), np.full((3, 1), -0.5), np.full(1, 2.0)]",
    )
    result = parity.run_parity(path)
    assert result["passed"], (result["runs"], result["pairs"])
    for run in result["runs"]:
        kernel, bias = run["weights"][:2]
        assert kernel["mask"] == [[False, False, False], [True, True, False]] and run["frozen"] == 7
        assert bias["values"][1] == 2.5 and bias["frozen_moved"] == 0


def test_ordinals_of_a_combined_spec_are_compared(write, monkeypatch):
    """A "#k" inside of `|` and `~` is one whose weight must be the same in every run."""
    seen = []
    monkeypatch.setattr(runner.judge, "check_together", lambda rows: seen.extend(row["ordinals"] for row in rows))
    path = write(
        "from freezecompat import FreezeSpec", "SPEC = FreezeSpec({'#0': (0, 1)}) | ~~FreezeSpec({'#3': 'all'})"
    )
    assert parity.run_parity(path, apis=["tf1-eager"])["passed"]
    assert seen == [{"#0": "a/kernel", "#3": "b/bias"}]


def test_agrees_with_numpy(write):
    """One step of plain SGD on a linear model, computed by hand: the runner trains what it says."""
    path = write(
        "OPTIMIZER = {'name': 'sgd', 'learning_rate': 0.5}",
        "SPEC = {'a/kernel': (0, 0)}",
        "STEPS = 1",
        "BATCH_SIZE = 5",
        "build = lambda keras: keras.Sequential([keras.layers.Dense(1, name='a', input_shape=(2,))])",
        "initial_weights = lambda: [np.array([[1.0], [-1.0]]), np.array([0.5])]",
    )
    x, y = np.arange(10.0).reshape(5, 2) / 10, np.arange(5.0).reshape(5, 1)
    error = x @ [[1.0], [-1.0]] + 0.5 - y
    gradient = 2 * x.T @ error / 5
    for run in parity.run_parity(path)["runs"]:
        weights = final(run)
        assert weights["a/kernel"][0, 0] == 1.0
        np.testing.assert_allclose(weights["a/kernel"][1, 0], -1 - 0.5 * gradient[1, 0], rtol=1e-5)
        np.testing.assert_allclose(weights["a/bias"], 0.5 - 0.5 * 2 * error.mean(0), rtol=1e-5)
        np.testing.assert_allclose(run["loss"], (error**2).mean(), rtol=1e-5)


def test_loss_of_ones_own_and_regularizers(write):
    """A loss function is given TensorFlow, y and the prediction; the layers' own losses count under each API."""
    result = parity.run_parity(
        write(
            "LOSS = lambda tf, y, prediction: tf.reduce_mean(tf.abs(tf.cast(y, tf.float32) - prediction))",
            "def build(keras):",
            "    return keras.Sequential([",
            "        keras.layers.Dense(3, name='a', kernel_regularizer=keras.regularizers.l2(0.1), input_shape=(2,)),",
            "        keras.layers.Dense(1, name='b')])",
        )
    )
    assert result["passed"], (result["runs"], result["pairs"])


def test_model_of_a_class_of_ones_own(write):
    """A subclassed model, which has no weights before it is called."""
    result = parity.run_parity(
        write(
            "def build(keras):",
            "    class Mine(keras.Model):",
            "        def __init__(self):",
            "            super(Mine, self).__init__()",
            "            self.a = keras.layers.Dense(3, name='a', activation='tanh')",
            "            self.b = keras.layers.Dense(1, name='b')",
            "        def call(self, x, training=None):",
            "            return self.b(self.a(x))",
            "    return Mine()",
        )
    )
    assert result["passed"], (result["runs"], result["pairs"])


def test_moving_statistics(write):
    """BatchNorm moves its statistics under every API, in a graph too, where they are ops of their own."""
    result = parity.run_parity(
        write(
            "SPEC = {'bn/gamma': [1]}",
            "OPTIMIZER = {'name': 'sgd', 'learning_rate': 0.01}",
            "TOLERANCE_ULP = 200",
            "def build(keras):",
            "    return keras.Sequential([",
            "        keras.layers.Dense(3, name='a', input_shape=(2,)), keras.layers.BatchNormalization(name='bn'),",
            "        keras.layers.Dense(1, name='b')])",
            "def initial_weights():",
            "    a = np.array([[0.5, -0.25, 1.0], [0.75, 0.5, -0.5]])",
            "    one = np.ones(3)",
            "    return [a, one, one, one, np.full(3, 0.5), one, np.ones((3, 1)), np.ones(1)]",
        )
    )
    assert result["passed"], (result["runs"], result["pairs"])
    for run in result["runs"]:
        rows = {weight["address"]: weight for weight in run["weights"]}
        assert not rows["bn/moving_mean"]["trainable"] and rows["bn/moving_mean"]["free_moved"] == 3
        assert rows["bn/gamma"]["values"][1] == 1.0


def test_optimizer_that_keras_alone_has(write):
    """Under tf.train it is a row with the reason, and the Keras runs are compared."""
    result = parity.run_parity(write("OPTIMIZER = {'name': 'rmsprop'}"))
    assert [run["status"] for run in result["runs"]] == ["unavailable", "unavailable", "ran", "ran"]
    assert "starts its mean square at 1" in result["runs"][0]["reason"]
    assert result["passed"] and len(result["pairs"]) == 1


@pytest.mark.parametrize(
    "optimizer",
    [
        pytest.param({"name": "adam", "learning_rate": 0.01}, id="adam"),
        pytest.param({"name": "adagrad", "learning_rate": 0.1}, id="adagrad"),
        pytest.param({"name": "adadelta", "learning_rate": 1.0}, id="adadelta"),
        pytest.param(
            {
                "name": "ftrl",
                "learning_rate": 0.1,
                "l1_regularization_strength": 1e-3,
                "l2_regularization_strength": 0.01,
            },
            id="ftrl",
        ),
    ],
)
def test_equal_mathematics(write, optimizer):
    """tf.train and Keras take the same steps, apart from rounding."""
    path = write("OPTIMIZER = {!r}".format(optimizer), "STEPS = 30", "TOLERANCE_ULP = 64")
    result = parity.run_parity(path, apis=["tf1-eager", "keras-loop"])
    assert [run["status"] for run in result["runs"]] == ["ran"] * 2, result["runs"]
    assert result["passed"], result["pairs"]


def test_asked_for_an_optimizer_that_it_lacks(write):
    """Asked for by name, it is an error."""
    with pytest.raises(ArgumentError, match="tf1-eager cannot run here: rmsprop runs under Keras only"):
        parity.run_parity(write("OPTIMIZER = {'name': 'rmsprop'}"), apis=["tf1-eager"])


@pytest.mark.parametrize(
    "line, text",
    [
        pytest.param("SPEC = {'hiden/kernel': (0, 0)}", "SPEC does not fit the model: .*hiden/kernel", id="weight"),
        pytest.param("SPEC = {'a/kernel': (0, 9)}", "SPEC does not fit the model", id="index"),
        pytest.param("initial_weights = lambda: [np.zeros(3)]", "initial_weights", id="weights"),
        pytest.param("build = lambda keras: 3", r"build\(keras\) returned 3", id="no-model"),
        pytest.param(
            "build = lambda keras: keras.layers.Dens(3)", r"build\(keras\) raised AttributeError", id="raises"
        ),
    ],
)
@pytest.mark.parametrize("api", ["tf1-eager", "tf1-graph"])
def test_broken_for_tensorflow(write, line, text, api):
    """What only a model can tell is one line too."""
    with pytest.raises(ArgumentError, match=text) as caught:
        parity.run_parity(write(line), apis=[api])
    assert "mine.py" in str(caught.value)


def test_crash_in_training(write):
    """A run that fails while it trains is a row with the end of its log."""
    result = parity.run_parity(write("LOSS = lambda tf, y, prediction: tf.no_such_function()"), apis=["tf1-eager"])
    run = result["runs"][0]
    assert run["status"] == "failed" and "no_such_function" in run["log"][-1]
    assert run["tensorflow"] == tf.__version__
    assert not result["passed"]


def test_exact_bits(write):
    """Values and their bits in the result are the same floats."""
    run = parity.run_parity(write(), apis=["keras-loop"])["runs"][0]
    for weight in run["weights"]:
        bits = np.array([int(text, 16) for text in weight["bits"]], np.uint32).view(np.float32)
        values = np.array(weight["values"], np.float32).reshape(-1)
        assert not different_bits(bits, values).any()


def test_doctor():
    """The doctor says what this interpreter has and offers."""
    found = parity.doctor()
    assert found["tensorflow"] == tf.__version__ == found["backend"]["tensorflow"]
    assert found["apis"] == dict.fromkeys(parity.APIS)
    assert found["interpreter"] == sys.executable
    assert found["tf_keras"] == tf_keras_version()


def tf_keras_version():
    try:
        import tf_keras
    except ImportError:
        return None
    return tf_keras.__version__
