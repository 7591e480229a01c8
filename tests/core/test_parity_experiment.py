"""Reading parity experiments, and building their optimizers, without TensorFlow."""

import sys

import numpy as np
import pytest

from freezecompat.exceptions import ArgumentError
from freezecompat.parity.experiment import load, locate
from freezecompat.parity.optimizers import Unavailable, keras_optimizer, train_optimizer

# Experiments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["problem-1", "problem-2"])
def test_built_in_experiments_are_sound(name):
    """Each can be read, and its weights, data and spec are what the questions show."""
    experiment = load(locate(name))
    assert experiment.title.startswith(name.replace("-", " ").capitalize())
    assert all(array.dtype.kind == "f" for array in experiment.initial_weights)


def test_problem_2_starts_from_the_printed_matrix():
    """The two frozen values are those of the question."""
    kernel = load(locate("problem-2")).initial_weights[2]
    assert kernel[1, 2] == np.float32(0.14362943) and kernel[3, 1] == np.float32(-0.23868048)


def test_defaults(write):
    """All rows are one batch, and the title is the file's name."""
    experiment = load(write())
    assert (experiment.batch_size, experiment.title) == (5, "mine")


def test_batches_begin_again_at_the_end(write):
    """Batches are in order; the last of a round is as small as it must be."""
    experiment = load(write("BATCH_SIZE = 2"))
    rows = [list(range(5))[experiment.rows(step)] for step in range(5)]
    assert rows == [[0, 1], [2, 3], [4], [0, 1], [2, 3]]


def test_imports_from_its_own_folder(write, tmp_path, monkeypatch):
    """As for a script, modules beside the file are found."""
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "beside_it.py").write_text("WIDTH = 7")
    assert load(write("import beside_it", "STEPS = beside_it.WIDTH")).steps == 7


@pytest.mark.parametrize(
    "name", ["build", "initial_weights", "data", "SPEC", "OPTIMIZER", "LOSS", "STEPS", "TOLERANCE_ULP"]
)
def test_says_what_is_missing(write, name):
    """Each name that must be there is asked for by name."""
    with pytest.raises(ArgumentError, match=r"mine\.py: {} is missing; an experiment defines build".format(name)):
        load(write(without=name))


@pytest.mark.parametrize(
    "line, text",
    [
        pytest.param("def broken(:", "the file raised SyntaxError", id="syntax"),
        pytest.param("import no_such_module", "the file raised ModuleNotFoundError: No module named", id="import"),
        pytest.param("build = 3", "build is 3, it must be a function of Keras", id="build"),
        pytest.param("SPEC = {}", r"FreezeSpec\(SPEC\) raised SpecValueError: the spec is empty", id="empty-spec"),
        pytest.param("OPTIMIZER = 'adam'", "OPTIMIZER is 'adam', it must be a dict", id="optimizer"),
        pytest.param(
            "OPTIMIZER = {'name': 'adm'}", r"OPTIMIZER\[\"name\"\] is 'adm', it must be one of 'adadelta'", id="name"
        ),
        pytest.param(
            "OPTIMIZER = {'name': 'sgd', 'learning_rate': 'high'}", "is 'high', it must be one number", id="rate"
        ),
        pytest.param(
            "OPTIMIZER = {'name': 'nadam'}", "'nadam' is refused: its momentum schedule is another", id="nadam"
        ),
        pytest.param("OPTIMIZER['momentum'] = True", "it must be one number$", id="momentum"),
        pytest.param("OPTIMIZER['nesterov'] = 1", r"is 1, it must be True or False", id="nesterov"),
        pytest.param(
            "OPTIMIZER['rho'] = 0.9", "no option of sgd: give some of learning_rate, momentum, nesterov", id="option"
        ),
        pytest.param("OPTIMIZER['decay'] = 0.1", r"\"decay\"\] is refused: it changes the rate", id="decay"),
        pytest.param("OPTIMIZER['use_ema'] = True", "refused: the average starts at the weight", id="ema"),
        pytest.param("LOSS = 'mean'", "LOSS is 'mean', it must be one of 'binary_crossentropy'", id="loss"),
        pytest.param("STEPS = 1.5", "STEPS is 1.5, it must be a whole number", id="float-steps"),
        pytest.param("STEPS = True", "STEPS is True, it must be a whole number", id="bool-steps"),
        pytest.param("STEPS = 0", "STEPS is 0, it must be at least 1", id="no-steps"),
        pytest.param("TOLERANCE_ULP = -1", "TOLERANCE_ULP is -1, it must be at least 0", id="tolerance"),
        pytest.param("BATCH_SIZE = 0", "BATCH_SIZE is 0, it must be at least 1", id="batch-size"),
        pytest.param("data = lambda: 3", r"data\(\) returned int, it must return x, y", id="data"),
        pytest.param("data = lambda: ([[1.0]], [])", "data\\(\\) returned 1 rows of x and 0 of y", id="rows"),
        pytest.param("data = lambda: (['a'], [1.0])", "x of data\\(\\) is no array of numbers", id="text"),
        pytest.param("data = lambda: 1 / 0", r"data\(\) raised ZeroDivisionError: division by zero", id="raises"),
        pytest.param("initial_weights = lambda: 3", r"initial_weights\(\) returned int", id="weights"),
        pytest.param("initial_weights = [1]", r"initial_weights is \[1\], it must be a function", id="no-function"),
    ],
)
def test_says_what_is_wrong(write, line, text):
    """A broken file is one line that names the file and the thing."""
    with pytest.raises(ArgumentError, match=text) as caught:
        load(write(line))
    assert "\n" not in str(caught.value) and "mine.py" in str(caught.value)


@pytest.mark.parametrize(
    "name, text",
    [
        pytest.param("problem-3", "Did you mean 'problem-", id="close"),
        pytest.param("xor", "there is no experiment 'xor': give a .py file, or one of problem-1, problem-2$", id="far"),
        pytest.param("nowhere/xor.py", "there is no experiment file 'nowhere/xor.py'", id="path"),
    ],
)
def test_unknown_experiment(name, text):
    """What is no experiment is refused before anything runs."""
    with pytest.raises(ArgumentError, match=text):
        locate(name)


# Optimizers ----------------------------------------------------------------------------------------------------------


class FakeTrain:
    """Records what `tf.train` would be asked for."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: (name, args, kwargs)


class FakeKeras:
    """Records what `tf.keras` would be asked for."""

    class optimizers:
        Adam = staticmethod(lambda **options: ("Adam", options))


@pytest.mark.parametrize(
    "optimizer, expected",
    [
        pytest.param({"name": "sgd"}, ("GradientDescentOptimizer", (0.01,), {}), id="sgd"),
        pytest.param(
            {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": True},
            ("MomentumOptimizer", (0.1,), {"momentum": 0.9, "use_nesterov": True}),
            id="momentum",
        ),
        pytest.param(
            {"name": "adam"},
            ("AdamOptimizer", (0.001,), {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}),
            id="adam-with-the-epsilon-of-keras",
        ),
        pytest.param(
            {"name": "adagrad"},
            ("AdagradOptimizer", (0.001,), {"initial_accumulator_value": 0.1}),
            id="adagrad-without-epsilon",
        ),
        pytest.param(
            {"name": "adadelta", "learning_rate": 1.0},
            ("AdadeltaOptimizer", (1.0,), {"rho": 0.95, "epsilon": 1e-7}),
            id="adadelta",
        ),
        pytest.param(
            {"name": "ftrl", "l1_regularization_strength": 0.5},
            (
                "FtrlOptimizer",
                (0.001,),
                {
                    "learning_rate_power": -0.5,
                    "initial_accumulator_value": 0.1,
                    "l1_regularization_strength": 0.5,
                    "l2_regularization_strength": 0.0,
                },
            ),
            id="ftrl",
        ),
    ],
)
def test_optimizer_of_tf_train(optimizer, expected):
    """The names and defaults of Keras become those of tf.train."""
    name, args, options = train_optimizer(FakeTrain(), optimizer)
    assert (name, tuple(map(np.float32, args))) == (expected[0], tuple(map(np.float32, expected[1])))
    assert {key: np.float32(value) for key, value in options.items()} == {
        key: np.float32(value) for key, value in expected[2].items()
    }


def test_numbers_are_those_of_float32():
    """1 - beta is then the same number, whether it is taken in float32 or in Python's floats."""
    beta = train_optimizer(FakeTrain(), {"name": "adam"})[2]["beta2"]
    assert beta != 0.999 and np.float32(1 - beta) == np.float32(1) - np.float32(0.999)


def test_optimizer_of_keras():
    """Defaults are set, so that they are the same in every version."""
    name, options = keras_optimizer(FakeKeras, {"name": "adam", "learning_rate": 0.5})
    expected = {"learning_rate": 0.5, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
    assert name == "Adam" and options == {key: float(np.float32(value)) for key, value in expected.items()}


@pytest.mark.parametrize(
    "optimizer, reason",
    [
        pytest.param({"name": "adamw"}, "adamw runs under Keras only: tf.train has no AdamW", id="adamw"),
        pytest.param({"name": "rmsprop"}, "starts its mean square at 1, Keras starts it at 0", id="rmsprop"),
        pytest.param({"name": "adam", "clipnorm": 1.0}, "tf.train's adam has no clipnorm", id="option"),
        pytest.param({"name": "adagrad", "epsilon": 1e-3}, "tf.train's adagrad has no epsilon", id="adagrad-epsilon"),
    ],
)
def test_tf_train_refuses_other_mathematics(optimizer, reason):
    """What tf.train would compute differently is refused with the reason."""
    with pytest.raises(Unavailable, match=reason):
        train_optimizer(FakeTrain(), optimizer)


def test_keras_without_the_optimizer():
    """An old Keras that has no AdamW says so."""
    with pytest.raises(Unavailable, match="has no AdamW"):
        keras_optimizer(FakeKeras, {"name": "adamw"})


class NewKeras:
    """Keras classes since 2.11 have update_step."""

    class optimizers:
        class Adagrad:
            def __init__(self, **options):
                self.options = options

            def update_step(self):
                raise NotImplementedError


class OldKeras:
    class optimizers:
        SGD = Adagrad = staticmethod(lambda **options: options)


def test_epsilon_that_moved():
    """Unless it is given there is none; given, it means the same in new Keras alone."""
    assert keras_optimizer(NewKeras, {"name": "adagrad", "epsilon": 0.5}).options["epsilon"] == 0.5
    assert keras_optimizer(OldKeras, {"name": "adagrad"})["epsilon"] == np.float32(1e-30)
    with pytest.raises(Unavailable, match="this Keras adds epsilon outside of the root"):
        keras_optimizer(OldKeras, {"name": "adagrad", "epsilon": 0.5})


@pytest.mark.parametrize(
    "option, reason",
    [
        ("clipnorm", r"clips in minimize\(\) or fit\(\) only, or before any hook"),
        ("clipvalue", "clips in minimize"),
        ("weight_decay", "have no weight_decay"),
    ],
)
def test_old_keras_refuses_other_mathematics(option, reason):
    """What the classes up to 2.10 would do elsewhere in a step, or not at all."""
    with pytest.raises(Unavailable, match=reason):
        keras_optimizer(OldKeras, {"name": "sgd", option: 0.5})
