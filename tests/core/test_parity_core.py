"""What needs no TensorFlow in parity: reading experiments, and the verdict on runs."""

import json
import os
import re
import sys

import numpy as np
import pytest

import freezecompat.parity as parity
from freezecompat._parity_experiment import load, locate
from freezecompat._parity_optimizers import Unavailable, keras_optimizer, train_optimizer
from freezecompat._parity_table import plain, print_result, tables, verdict
from freezecompat.exceptions import ArgumentError, MissingDependency

EXPERIMENT = """
import numpy as np
def build(keras): raise NotImplementedError
def initial_weights(): return [np.zeros((2, 2))]
def data(): return np.zeros((5, 2)), np.zeros((5, 2))
SPEC = {"kernel": (0, 0)}
OPTIMIZER = {"name": "sgd", "learning_rate": 0.1}
LOSS = "mse"
STEPS = 3
TOLERANCE_ULP = 0
"""


@pytest.fixture
def write(tmp_path):
    def write(*lines, without=None):
        text = "\n".join(line for line in EXPERIMENT.splitlines() if not without or without not in line)
        path = tmp_path / "mine.py"
        path.write_text("\n".join([text] + list(lines)))
        return str(path)

    return write


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


@pytest.mark.parametrize("name", ["build", "initial_weights", "data", "SPEC", "OPTIMIZER", "LOSS", "STEPS", "TOLERANCE_ULP"])
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
        pytest.param("OPTIMIZER = {'name': 'adm'}", r"OPTIMIZER\[\"name\"\] is 'adm', it must be one of 'adagrad'", id="name"),
        pytest.param(
            "OPTIMIZER = {'name': 'sgd', 'learning_rate': 'high'}", "is 'high', it must be one number", id="rate"
        ),
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
    ],
)
def test_optimizer_of_tf_train(optimizer, expected):
    """The names and defaults of Keras become those of tf.train."""
    assert train_optimizer(FakeTrain(), optimizer) == expected


def test_optimizer_of_keras():
    """Defaults are set, so that they are the same in every version."""
    expected = {"learning_rate": 0.5, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
    assert keras_optimizer(FakeKeras, {"name": "adam", "learning_rate": 0.5}) == ("Adam", expected)


@pytest.mark.parametrize(
    "optimizer, reason",
    [
        pytest.param({"name": "adamw"}, "adamw runs under Keras only: tf.train has no AdamW", id="adamw"),
        pytest.param({"name": "rmsprop"}, "starts its mean square at 1 and adds epsilon inside the root", id="rmsprop"),
        pytest.param({"name": "adam", "clipnorm": 1.0}, "tf.train's adam has no clipnorm", id="option"),
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


# The verdict ---------------------------------------------------------------------------------------------------------


def a_run(api, kernel=((0.0, 1.0), (2.0, 3.0)), mask=((True, False), (False, False)), **changes):
    run = {
        "interpreter": "python",
        "api": api,
        "status": "ran",
        "reason": None,
        "log": [],
        "seconds": 1.0,
        "python": "3.11.7",
        "tensorflow": "2.15.1",
        "keras": "2.15.0",
        "numpy": "1.26.4",
        "verify": None,
        "losses": [0.5, 0.25],
        "ordinals": {},
        "experiment": {
            "title": "A title",
            "optimizer": "sgd()",
            "loss": "mse",
            "steps": 2,
            "batch_size": 5,
            "tolerance_ulp": 1,
        },
        "weights": [
            {
                "address": "kernel",
                "name": "kernel:0",
                "shape": [2, 2],
                "dtype": "float32",
                "trainable": True,
                "frozen": 1,
                "frozen_moved": 0,
                "free": 3,
                "free_moved": 3,
            }
        ],
        "arrays": {"final_0": np.array(kernel, np.float32), "mask_0": np.array(mask)},
    }
    weight_changes = changes.pop("weight", {})
    run.update(changes)
    run["weights"][0].update(weight_changes)
    if run["status"] == "ran":
        parity._summarize(run)
    return run


@pytest.fixture
def result_of(monkeypatch):
    """run_parity on runs that are given and not trained."""

    def result_of(*runs, **options):
        given = {run["api"]: run for run in runs}
        unavailable = dict(status="unavailable", reason="not here")
        monkeypatch.setattr(
            parity, "_run_one", lambda interpreter, api, path, timeout: given.get(api) or a_run(api, **unavailable)
        )
        return parity.run_parity("problem-1", **options)

    return result_of


def one_up(value):
    return float(np.nextafter(np.float32(value), np.float32(9)))


def test_equal_runs_pass(result_of):
    """Runs of the same bits pass, and the result is plain JSON."""
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph"))
    assert result["passed"]
    assert [run["status"] for run in result["runs"]] == ["ran", "ran", "unavailable", "unavailable"]
    assert [(pair["first"], pair["second"], pair["max_ulp"]) for pair in result["pairs"]] == [(0, 1, 0)]
    weight = result["runs"][0]["weights"][0]
    assert weight["values"] == [[0.0, 1.0], [2.0, 3.0]]
    assert weight["bits"] == ["00000000", "3f800000", "40000000", "40400000"]
    assert weight["mask"] == [[True, False], [False, False]]
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert verdict(result) == "PASSED: every frozen bit held in 2 runs; free elements agree within 0 ULP, 1 allowed"


def test_distance_is_located(result_of):
    """The largest distance of a free element is given with its place and both values."""
    other = a_run("tf1-graph", kernel=((5.0, 1.0), (one_up(2.0), one_up(one_up(3.0)))))
    result = result_of(a_run("tf1-eager"), other)
    assert result["pairs"][0]["weights"] == [
        {"address": "kernel", "max_ulp": 2, "element": [1, 1], "first": 3.0, "second": one_up(one_up(3.0))}
    ]
    assert not result["pairs"][0]["within"] and not result["passed"]
    assert verdict(result).startswith("FAILED: tf1-eager and tf1-graph are 2 ULP apart in kernel[1, 1] (3.0 and 3.0")
    assert plain(tables(result)[1]).splitlines() == ["weight  1:2", "kernel  2 [1, 1]"]


def test_nan_is_no_agreement(result_of):
    """A NaN in one run fails; values stay JSON."""
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph", kernel=((0.0, np.nan), (2.0, np.inf))))
    assert not result["passed"]
    assert result["runs"][1]["weights"][0]["values"] == [[0.0, "nan"], [2.0, "inf"]]
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(
    "changes, text",
    [
        pytest.param({"weight": {"frozen_moved": 1}}, "tf1-graph: frozen elements moved, and verify", id="frozen-moved"),
        pytest.param({"verify": "kernel[0, 0] was 0.0"}, r"tf1-graph: kernel\[0, 0\] was 0.0", id="verify"),
        pytest.param({"weight": {"free_moved": 0}}, "tf1-graph: no free element moved", id="nothing-trained"),
        pytest.param({"status": "failed", "reason": "exit code 1"}, "tf1-graph failed", id="crash"),
        pytest.param({"status": "timeout", "reason": "1 s"}, "tf1-graph timed out", id="timeout"),
        pytest.param({"mask": ((False, True), (False, False))}, "different elements of kernel are frozen", id="masks"),
        pytest.param({"weight": {"address": "other"}}, "only one has kernel; .*only one has other", id="addresses"),
    ],
)
def test_what_fails(result_of, changes, text):
    """Each way to be wrong is named in the last line, and the other runs are shown all the same."""
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph", **changes))
    assert not result["passed"] and result["runs"][0]["status"] == "ran"
    assert re.search(text, verdict(result))


def test_all_frozen_may_stand_still(result_of):
    """Where nothing is free nothing has to move."""
    run = a_run("tf1-eager", mask=np.ones((2, 2), bool), weight={"frozen": 4, "free": 0, "free_moved": 0})
    result = result_of(run)
    assert result["passed"]
    assert verdict(result) == "PASSED: every frozen bit held in 1 run; nothing to compare"


def test_asked_for_and_not_there(result_of):
    """An API that cannot run is a row, and an error if it was asked for."""
    with pytest.raises(ArgumentError, match="keras-fit cannot run here: not here"):
        result_of(a_run("tf1-eager"), apis=["tf1-eager", "keras-fit"])


def test_nothing_can_run(result_of):
    """With no API at all there is no result."""
    with pytest.raises(ArgumentError, match="no API can run here: tf1-eager: not here; tf1-graph: not here"):
        result_of()


def test_broken_under_every_api_is_a_usage_error(result_of):
    """A build function that raises everywhere is the experiment's fault."""
    broken = dict(status="broken", reason="experiment mine.py: build(keras) raised NameError: x")
    with pytest.raises(ArgumentError, match="build.keras. raised NameError"):
        result_of(a_run("tf1-eager", **broken), a_run("tf1-graph", **broken))


def test_broken_under_one_api_is_a_failed_run(result_of):
    """A model that one API cannot build is a row, and the rest is compared."""
    broken = dict(status="broken", reason="experiment mine.py: build(keras) raised NotImplementedError")
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph", **broken), a_run("keras-fit"))
    assert [run["status"] for run in result["runs"]] == ["ran", "failed", "ran", "unavailable"]
    assert not result["passed"]


def test_broken_file_ends_it_at_once(result_of):
    """A file that cannot be read is not tried under the other APIs."""
    broken = dict(status="broken", reason="experiment mine.py: SPEC is missing", tensorflow=None)
    with pytest.raises(ArgumentError, match="SPEC is missing"):
        result_of(a_run("tf1-eager", **broken), a_run("tf1-graph"))


def test_ordinals_must_name_the_same_weight(result_of):
    """A spec whose #0 is another weight in another run compares nothing."""
    runs = a_run("tf1-eager", ordinals={"#0": "a/kernel"}), a_run("tf1-graph", ordinals={"#0": "b/kernel"})
    with pytest.raises(ArgumentError, match="SPEC's #0 is a/kernel under tf1-eager and b/kernel under tf1-graph"):
        result_of(*runs)


def test_no_tensorflow(result_of):
    """The missing package is named with the extra that brings it."""
    run = a_run("tf1-eager", status="no tensorflow", reason='pip install "freezecompat[tensorflow]"')
    with pytest.raises(MissingDependency, match="freezecompat.tensorflow."):
        result_of(run)


@pytest.mark.parametrize("apis", [["tf3"], []], ids=["unknown", "none"])
def test_apis_are_checked(apis):
    """Unknown APIs are refused before anything runs."""
    with pytest.raises(ArgumentError, match="give some of tf1-eager, tf1-graph, keras-fit, keras-loop"):
        parity.run_parity("problem-1", apis=apis)


def test_order_and_progress(result_of):
    """Runs are in one order, whatever the order they were asked for in, and each is announced."""
    lines = []
    result = result_of(a_run("tf1-graph"), a_run("tf1-eager"), apis=["tf1-graph", "tf1-eager"], progress=lines.append)
    assert [run["api"] for run in result["runs"]] == ["tf1-eager", "tf1-graph"]
    assert lines == ["tf1-eager ...", "tf1-eager: ran (1.0 s)", "tf1-graph ...", "tf1-graph: ran (1.0 s)"]


def test_printed(result_of, capsys):
    """The table has the versions, the losses, the bits that held, and the end of the log of what failed."""
    failed = a_run("tf1-graph", status="failed", reason="it ended with exit code 1", log=["Traceback", "MemoryError"])
    print_result(result_of(a_run("tf1-eager"), failed), sys.stdout)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "A title"
    assert lines[3].split() == "1 tf1-eager 2.15.1 2.15.0 3.11.7 2 0.25 1 of 1 3 of 3".split()
    assert "2 tf1-graph failed: it ended with exit code 1" in lines
    assert "    | MemoryError" in lines
    assert lines[-1] == "FAILED: tf1-graph failed"


# Child processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """Child processes find no TensorFlow."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tensorflow'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_without_tensorflow(no_tensorflow):
    """Parity says which extra to install."""
    with pytest.raises(MissingDependency, match=r'no TensorFlow is installed .* pip install "freezecompat\[tensorflow\]"'):
        parity.run_parity("problem-1")


def test_broken_experiment_without_tensorflow(no_tensorflow, write):
    """What is wrong with the file is found without TensorFlow."""
    with pytest.raises(ArgumentError, match="LOSS is missing"):
        parity.run_parity(write(without="LOSS"))


def test_experiment_that_ends_the_process(write):
    """A child that dies leaves the end of its log in the row."""
    path = write("import os, sys", "print('so long'); sys.stdout.flush(); os._exit(7)")
    result = parity.run_parity(path, apis=["tf1-eager"])
    assert not result["passed"]
    assert result["runs"][0]["reason"] == "it ended with exit code 7"
    assert result["runs"][0]["log"][-1] == "so long"


def test_timeout(write):
    """A run that takes too long is stopped, and is a row."""
    result = parity.run_parity(write("import time", "time.sleep(60)"), apis=["keras-fit"], timeout=2)
    assert result["runs"][0]["status"] == "timeout"
    assert result["runs"][0]["seconds"] < 30


def test_children_alone_get_variables(monkeypatch, write):
    """The process itself is left as it is; what the user has set stands."""
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    before = dict(os.environ)
    show = "print([os.environ[name] for name in ('TF_ENABLE_ONEDNN_OPTS', 'TF_CPP_MIN_LOG_LEVEL')]); sys.stdout.flush()"
    result = parity.run_parity(write("import os, sys", show, "os._exit(1)"), apis=["tf1-graph"])
    assert result["runs"][0]["log"][-1] == "['1', '2']"
    assert dict(os.environ) == before


def test_doctor_without_tensorflow(no_tensorflow):
    """The doctor has nothing to ask for."""
    found = parity.doctor()
    assert found["tensorflow"] is None and found["numpy"] == np.__version__
