"""What run_parity makes of its runs: rows, pairs, the verdict, and errors. The runs are given here, not trained."""

import io
import json
import re
import sys

import numpy as np
import pytest

import freezecompat.parity as parity
from freezecompat._columns import columns
from freezecompat.exceptions import ArgumentError, MissingDependency
from freezecompat.parity import runner
from freezecompat.parity.interpreters import Interpreter
from freezecompat.parity.processes import Ended
from freezecompat.parity.runs import Run, summarize
from freezecompat.parity.show import print_result
from freezecompat.parity.table import tables
from freezecompat.parity.verdict import verdict


def plain(table):
    return columns([table.columns] + table.rows)


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
        "arrays": {
            "initial_0": np.zeros((2, 2), np.float32),
            "final_0": np.array(kernel, np.float32),
            "mask_0": np.array(mask),
        },
    }
    weight_changes = changes.pop("weight", {})
    run.update(changes)
    run["weights"][0].update(weight_changes)
    if run["status"] == "ran":
        summarize(run)
    return run


@pytest.fixture
def result_of(monkeypatch):
    """run_parity on runs that are given and not trained; `others` are those of a second interpreter."""

    def result_of(*runs, others=None, **options):
        given = {("python", run["api"]): run for run in runs}
        interpreters = [Interpreter("this one", "python", "3.11.7", True)]
        if others is not None:
            interpreters.append(Interpreter("py37", "other/python", "3.7.16", False))
            given.update({("other/python", dict(run, interpreter="other/python")["api"]): run for run in others})

        def row(run, end):
            found = given.get((run.interpreter.executable, run.api))
            found = found or a_run(run.api, status="unavailable", reason="not here")
            return dict(found, interpreter=run.interpreter.executable)

        def side_by_side(commands, ended, started, going_on, timeout):
            for number in reversed(range(len(commands))):  # rows keep their order, whatever ends first
                started(number)
                ended(number, Ended(None, False, 1.0))

        monkeypatch.setattr(runner, "find", lambda pythons: interpreters)
        monkeypatch.setattr(runner, "side_by_side", side_by_side)
        monkeypatch.setattr(Run, "row", row)
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
        {
            "address": "kernel",
            "max_ulp": 2,
            "element": [1, 1],
            "first": 3.0,
            "second": one_up(one_up(3.0)),
            "first_bits": "40400000",
            "second_bits": "40400002",
        }
    ]
    assert not result["pairs"][0]["within"] and not result["passed"]
    assert verdict(result).startswith("FAILED: tf1-eager and tf1-graph are 2 ULP apart in kernel[1, 1] (3.0 and 3.0")
    assert plain(tables(result)[1]).splitlines() == ["#                    2", "1  2.15.1 tf1-eager  2"]
    assert plain(tables(result)[2]).splitlines()[1] == "kernel  2    [1,1]  1:2   3      3.00000048"
    assert plain(tables(result)[3]).splitlines() == ["kernel   runs", "2 [1,1]  1:2"]


def test_nan_is_no_agreement(result_of):
    """A NaN in one run fails; values stay JSON."""
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph", kernel=((0.0, np.nan), (2.0, np.inf))))
    assert not result["passed"]
    assert result["runs"][1]["weights"][0]["values"] == [[0.0, "nan"], [2.0, "inf"]]
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(
    "changes, text",
    [
        pytest.param(
            {"weight": {"frozen_moved": 1}}, "tf1-graph: frozen elements moved, and verify", id="frozen-moved"
        ),
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
    """Runs are in one order, whatever the order they were asked for in, and each start and end is told."""
    events = []
    result = result_of(a_run("tf1-graph"), a_run("tf1-eager"), apis=["tf1-graph", "tf1-eager"], progress=events.append)
    assert [run["api"] for run in result["runs"]] == ["tf1-eager", "tf1-graph"]
    assert list(map(str, events)) == [
        "[2/2] Python 3.11.7, tf1-graph: started",
        "[2/2] Python 3.11.7, TensorFlow 2.15.1, tf1-graph: ran (1.0 s)",
        "[1/2] Python 3.11.7, tf1-eager: started",
        "[1/2] Python 3.11.7, TensorFlow 2.15.1, tf1-eager: ran (1.0 s)",
    ]


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


# Several interpreters ------------------------------------------------------------------------------------------------


def test_pairs_that_say_the_same_share_a_row(result_of):
    """Each weight in each two runs: equal rows are one, pairs without a distance are the last."""
    far = ((0.0, 1.0), (2.0, one_up(3.0)))
    others = [a_run(api, kernel=far, tensorflow="1.15.5") for api in ("tf1-eager", "tf1-graph")]
    result = result_of(a_run("tf1-eager"), a_run("tf1-graph"), others=others, apis=["tf1-eager", "tf1-graph"])
    assert result["passed"]
    by_run, by_pair, by_weight, by_both = map(plain, tables(result))
    assert tables(result)[0].heading.splitlines()[-2:] == [
        "runs 1 to 2: python (this one)",
        "runs 3 to 4: other/python (py37)",
    ]
    assert by_pair.splitlines() == [
        "#                    2  3  4",
        "1  2.15.1 tf1-eager  0  1  1",
        "2  2.15.1 tf1-graph     1  1",
        "3  1.15.5 tf1-eager        0",
    ]
    assert by_weight.splitlines()[1:] == ["kernel  1    [1,1]  1:3   3      3.00000024"]
    assert by_both.splitlines() == ["kernel   runs", "1 [1,1]  1:3 1:4 2:3 2:4", "0        all other pairs"]


def test_verdict_names_the_worst_pair(result_of):
    """Many pairs are too far apart: the worst is told, and how many more there are."""
    near = a_run("tf1-graph", kernel=((0.0, 1.0), (2.0, one_up(one_up(3.0)))))
    others = [a_run("tf1-eager", kernel=((0.0, 1.0), (2.0, 4.0)), tensorflow="1.15.5")]
    result = result_of(a_run("tf1-eager"), near, others=others)
    assert verdict(result) == (
        "FAILED: 1 (2.15.1 tf1-eager) and 5 (1.15.5 tf1-eager) are 4194304 ULP apart in kernel[1, 1] (3.0 and 4.0), "
        "1 allowed (2 more pairs too)"
    )


def test_no_tensorflow_here_but_elsewhere(result_of):
    """The present interpreter was not asked for by name: its runs are unavailable, and count for nothing."""
    missing = [a_run(api, status="no tensorflow", reason="none", tensorflow=None) for api in parity.APIS]
    others = [a_run("tf1-eager"), a_run("keras-fit")]
    result = result_of(*missing, others=others, apis=["tf1-eager", "keras-fit"])
    assert [run["status"] for run in result["runs"]] == ["unavailable", "unavailable", "ran", "ran"]
    assert result["passed"]


def test_no_tensorflow_in_a_given_one(result_of):
    """A given interpreter that has none has failed."""
    missing = [a_run(api, status="no tensorflow", reason="none", tensorflow=None) for api in parity.APIS]
    result = result_of(a_run("tf1-eager"), others=missing)
    assert [run["status"] for run in result["runs"]][4:] == ["failed"] * 4 and not result["passed"]
    assert result["runs"][4]["reason"] == "none: other/python -m pip install tensorflow"


def test_ordinals_of_two_interpreters(result_of):
    """An ordinal that is another weight elsewhere: both runs are named."""
    here, other = a_run("tf1-eager", ordinals={"#0": "a"}), a_run(
        "tf1-eager", ordinals={"#0": "b"}, tensorflow="1.15.5"
    )
    text = r"SPEC's #0 is a under tf1-eager of TensorFlow 2.15.1 \(python\) and b under tf1-eager of TensorFlow 1.15.5"
    with pytest.raises(ArgumentError, match=text):
        result_of(here, others=[other])


def test_asked_for_and_not_there_elsewhere(result_of):
    """An API that was asked for and that a given interpreter cannot run is an error that names it."""
    with pytest.raises(ArgumentError, match="tf1-eager cannot run with py37: not here"):
        result_of(a_run("tf1-eager"), others=[], apis=["tf1-eager"])


def test_colours_on_a_terminal_only(result_of):
    """The same words with rich and without; escape codes on a terminal alone."""
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    result = result_of(a_run("tf1-eager"), a_run("tf1-graph", status="failed", reason="exit code 1"))
    terminal, file = Terminal(), io.StringIO()
    print_result(result, terminal)
    print_result(result, file)
    assert "\x1b[" in terminal.getvalue() and "\x1b" not in file.getvalue()
    words = re.sub("\x1b\\[[0-9;]*m", "", terminal.getvalue()).split()
    assert words == file.getvalue().split()
