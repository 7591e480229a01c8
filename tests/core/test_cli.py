"""The command: exit codes, and one clear line for a usage error."""

import json
import os
import subprocess
import sys

import pytest

import freezecompat
from freezecompat import cli
from freezecompat.parity.experiment import load

RESULT = {
    "freezecompat": 1,
    "experiment": {
        "title": "A title",
        "optimizer": "sgd()",
        "loss": "mse",
        "steps": 1,
        "batch_size": 1,
        "tolerance_ulp": 0,
    },
    "interpreters": [],
    "runs": [],
    "pairs": [],
    "passed": True,
}


@pytest.fixture
def asked(monkeypatch):
    """Answers in the place of run_parity, and keeps what it was asked."""
    asked = []

    def answer(experiment, **options):
        options.pop("progress")
        asked.append((experiment, options))
        return dict(RESULT, passed=experiment != "problem-2")

    monkeypatch.setattr(cli, "run_parity", answer)
    return asked


@pytest.mark.parametrize("experiment, code", [("problem-1", 0), ("problem-2", 1)], ids=["passed", "failed"])
def test_exit_code_is_the_verdict(asked, experiment, code, capsys):
    """0 where the frozen bits held and the free elements agree, 1 where not."""
    assert cli.main(["parity", experiment]) == code
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "A title" and err == ""


DEFAULTS = {"pythons": None, "apis": None, "timeout": None, "logs": None}


@pytest.mark.parametrize(
    "arguments, experiment, changed",
    [
        pytest.param(["problem-1"], "problem-1", {}, id="defaults"),
        pytest.param(["problem-1", "--timeout", "1.5"], "problem-1", {"timeout": 1.5}, id="timeout"),
        pytest.param(["problem-1", "--logs", "there"], "problem-1", {"logs": "there"}, id="logs"),
        pytest.param(["x.py", "--api", "tf1-eager"], "x.py", {"apis": ["tf1-eager"]}, id="one-api"),
        pytest.param(["x.py", "--api", "a", "--api", "b"], "x.py", {"apis": ["a", "b"]}, id="repeated"),
        pytest.param(["x.py", "--api", "a", "b,c"], "x.py", {"apis": ["a", "b", "c"]}, id="several"),
        pytest.param(["--api", "tf1-eager", "x.py"], "x.py", {"apis": ["tf1-eager"]}, id="experiment-last"),
        pytest.param(["x.py", "--python", "a", "--python", "b"], "x.py", {"pythons": ["a", "b"]}, id="pythons"),
        pytest.param(["x.py", "--python", "a", "b"], "x.py", {"pythons": ["a", "b"]}, id="several-pythons"),
        pytest.param(["--python", "a", "x.py"], "x.py", {"pythons": ["a"]}, id="experiment-after-python"),
        pytest.param(
            ["--python", "a", "x.py", "--api", "tf1-eager"], "x.py", {"pythons": ["a"], "apis": ["tf1-eager"]}, id="all"
        ),
    ],
)
def test_options(asked, arguments, experiment, changed):
    """Options mean what the help says, in any order."""
    assert cli.main(["parity"] + arguments) == 0
    assert asked == [(experiment, dict(DEFAULTS, **changed))]


def test_json(asked, tmp_path):
    """--json writes the whole result."""
    path = tmp_path / "result.json"
    assert cli.main(["parity", "problem-1", "--json", str(path)]) == 0
    assert json.loads(path.read_text()) == RESULT


@pytest.mark.parametrize(
    "arguments, text",
    [
        pytest.param([], "required: COMMAND", id="no-command"),
        pytest.param(["freze"], "invalid choice: 'freze'", id="unknown-command"),
        pytest.param(["parity"], "parity needs an EXPERIMENT: problem-1, problem-2, or a .py file", id="no-experiment"),
        pytest.param(["parity", "--api", "tf1-eager"], "parity needs an EXPERIMENT", id="api-and-no-experiment"),
        pytest.param(["parity", "problem-3"], "there is no experiment 'problem-3'", id="unknown-experiment"),
        pytest.param(["parity", "no/such.py"], "there is no experiment file 'no/such.py'", id="no-file"),
        pytest.param(["parity", "problem-1", "--api", "tf3"], "there is no API 'tf3'", id="unknown-api"),
        pytest.param(["parity", "problem-1", "--timeout", "0"], "'0' is no number of seconds above 0", id="timeout-0"),
        pytest.param(["parity", "problem-1", "--timeout", "soon"], "'soon' is no number of seconds", id="timeout-text"),
        pytest.param(["parity", "problem-1", "--json", "no/such/folder/x"], "no such folder", id="json-folder"),
        pytest.param(["parity", "problem-1", "--nope"], "unrecognized arguments: --nope", id="unknown-option"),
    ],
)
def test_usage_error_is_one_line(arguments, text, capsys):
    """Exit code 2, and one line on stderr that says what was wrong; nothing is run."""
    try:
        code = cli.main(arguments)
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert code == 2 and out == ""
    assert text in err and err.count("\n") == 1


def test_broken_experiment_is_one_line(tmp_path, capsys):
    """A broken file is a usage error, with no traceback."""
    path = tmp_path / "mine.py"
    path.write_text("STEPS = 1\n")
    assert cli.main(["parity", str(path), "--api", "tf1-eager"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("freezecompat: experiment {}: build is missing; an experiment defines".format(path))


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """Child processes find no TensorFlow."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tensorflow'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_parity_without_tensorflow(no_tensorflow, capsys):
    """A missing TensorFlow is a usage error that names the extra."""
    assert cli.main(["parity", "problem-1"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and 'pip install "freezecompat[tensorflow]"' in err


def test_doctor_without_tensorflow(no_tensorflow, capsys):
    """The doctor says what is missing, and what is tested."""
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert 'TensorFlow    not installed: pip install "freezecompat[tensorflow]"' in out
    assert "TensorFlow 1.15.5 on Python 3.7" in out


def test_new(tmp_path, capsys):
    """--new writes an experiment that can be read, and never over a file."""
    path = tmp_path / "mine.py"
    assert cli.main(["parity", "--new", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    assert load(str(path)).optimizer["name"] == "adam"
    path.write_text("my own")
    assert cli.main(["parity", "--new", str(path)]) == 2
    assert capsys.readouterr().err == "freezecompat: {} is there already: give a new name\n".format(path)
    assert path.read_text() == "my own"


@pytest.mark.parametrize(
    "arguments, text",
    [
        pytest.param(["--new", "mine"], "'mine' must end in .py", id="name"),
        pytest.param(["--new", "no/such/mine.py"], "can't write no/such/mine.py: No such file", id="folder"),
        pytest.param(["problem-1", "--new", "mine.py"], "leave problem-1 away", id="experiment"),
    ],
)
def test_new_that_is_refused(arguments, text, capsys):
    """One line each."""
    assert cli.main(["parity"] + arguments) == 2
    err = capsys.readouterr().err
    assert text in err and err.count("\n") == 1


def test_interrupt(monkeypatch):
    """Ctrl-C ends it without a traceback."""

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run_parity", interrupted)
    assert cli.main(["parity", "problem-1"]) == 130


def test_run_as_a_module():
    """python -m freezecompat is the command."""
    done = subprocess.run(
        [sys.executable, "-m", "freezecompat", "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert done.stdout.decode().split() == ["freezecompat", freezecompat.__version__]
    assert done.returncode == 0
