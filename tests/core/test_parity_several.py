"""Several interpreters for real: virtual environments that share this one's packages, or have none."""

import glob
import os
import signal
import subprocess
import sys
import sysconfig
import time
import venv

import numpy as np
import pytest

import freezecompat.parity as parity
from freezecompat import cli
from freezecompat.exceptions import ArgumentError
from freezecompat.parity import runner
from freezecompat.parity.processes import cores
from freezecompat.parity.verdict import verdict

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups of POSIX")

# An experiment that starts a process of its own and comes to no end; the ids of both go to a file.
ENDLESS = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(os.path.join({folder!r}, "ids-%d" % os.getpid()), "w") as file:
    file.write("%d %d." % (os.getpid(), child.pid))
time.sleep(600)
"""


@pytest.fixture
def environment(tmp_path):
    """Makes a virtual environment, with what is installed here or with nothing."""

    def environment(name, packages):
        folder = str(tmp_path / name)
        venv.create(folder, with_pip=False, symlinks=True)
        if packages:
            site = sysconfig.get_path("purelib", vars={"base": folder, "platbase": folder})
            here = dict.fromkeys([os.path.dirname(os.path.dirname(np.__file__)), sysconfig.get_path("purelib")])
            with open(os.path.join(site, "here.pth"), "w") as file:
                file.write("\n".join(here) + "\n")
        return folder

    return environment


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """Child processes find no TensorFlow."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tensorflow'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_a_package_that_is_missing_is_a_row(write, environment, monkeypatch):
    """An interpreter without numpy fails with its last lines; the rest goes on; rows are in the order of the question."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    pythons = [environment("full", True), environment("bare", False)]
    result = parity.run_parity(write("import os; os._exit(7)"), pythons=pythons, apis=["tf1-graph", "tf1-eager"])
    assert [one["given"] for one in result["interpreters"]] == ["this one"] + pythons
    paths = [one["executable"] for one in result["interpreters"]]
    expected = [(path, api) for path in paths for api in ("tf1-eager", "tf1-graph")]
    assert [(run["interpreter"], run["api"]) for run in result["runs"]] == expected
    reasons = [run["reason"] for run in result["runs"]]
    assert reasons[:4] == ["it ended with exit code 7"] * 4
    assert reasons[4] == "it ended with exit code 1: ModuleNotFoundError: No module named 'numpy'"
    assert "No module named 'numpy'" in result["runs"][4]["log"][-1]
    assert not result["passed"]


def test_no_tensorflow_here_is_no_fault(write, environment, no_tensorflow):
    """The present one is shown as unavailable, a given one has failed, and is told what to install."""
    result = parity.run_parity(write(), pythons=[environment("full", True)], apis=["tf1-eager"])
    here, other = result["runs"]
    assert here["status"] == "unavailable" and here["reason"].startswith("no TensorFlow is installed for ")
    assert other["status"] == "failed" and other["reason"].endswith(other["interpreter"] + " -m pip install tensorflow")
    assert "ModuleNotFoundError" in other["log"][-1]
    assert verdict(result) == "FAILED: 2 (tf1-eager) failed"


def test_a_file_that_is_broken_everywhere(write, environment, no_tensorflow, capsys):
    """An experiment that no interpreter can read is a usage error of one line."""
    assert cli.main(["parity", write("STEPS = 0"), "--python", environment("full", True)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "STEPS is 0, it must be at least 1" in err


def test_a_package_of_the_experiment_that_one_has_not(write, environment, no_tensorflow, tmp_path):
    """A file that one interpreter alone can't read is a row there, not a usage error."""
    only = "import sys\nif not sys.prefix.endswith('full'): import no_such_package"
    result = parity.run_parity(write(only), pythons=[environment("full", True)], apis=["tf1-eager"])
    here, other = result["runs"]
    assert here["status"] == other["status"] == "failed"
    assert "No module named 'no_such_package'" in here["reason"] and "ModuleNotFoundError" in here["log"][-1]
    assert other["reason"].startswith("no TensorFlow is installed")


@pytest.mark.parametrize("given", ["no/such/python", "no-such-environment", __file__])
def test_an_interpreter_that_is_none(given, capsys, monkeypatch):
    """Exit code 2 and one line, before anything is trained."""
    monkeypatch.setattr(runner, "_train", None)
    assert cli.main(["parity", "problem-1", "--python", given]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and os.path.basename(given) in err


def test_logs(write, environment, tmp_path):
    """A log for each run, in a folder that is kept, under names of their own."""
    logs = tmp_path / "there" / "logs"
    path = write("import os, sys; print(sys.prefix); sys.stdout.flush(); os._exit(1)")
    pythons = [environment("full", True)]
    result = parity.run_parity(path, pythons=pythons, apis=["tf1-eager"], logs=str(logs))
    stem = "python{}-tf1-eager".format(result["runs"][0]["python"])
    assert sorted(os.listdir(str(logs))) == [stem + "-2.log", stem + ".log"]
    printed = [open(run["log_file"]).read().splitlines() for run in result["runs"]]
    assert printed == [[sys.prefix], pythons]


def test_logs_in_a_place_that_is_none(write, tmp_path):
    """A folder that can't be made is a usage error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="can't keep logs in .*file.x: Not a directory"):
        parity.run_parity(write(), logs=str(tmp_path / "file" / "x"))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_timeouts_are_checked(timeout):
    """A time that is none is refused."""
    with pytest.raises(ArgumentError, match="it must be a number of seconds above 0"):
        parity.run_parity("problem-1", timeout=timeout)


def is_gone(pid):
    try:
        with open("/proc/{}/stat".format(pid)) as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# The command, with signals as at a terminal: whoever runs the tests may ignore some, and a process inherits that.
AT_A_TERMINAL = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
runpy.run_module("freezecompat", run_name="__main__", alter_sys=True)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_interrupt_leaves_nothing(number, code, write, tmp_path):
    """Ctrl-C in the middle of the runs: no child, no grandchild, no temporary file, no traceback."""
    ids, temporary = tmp_path / "ids", tmp_path / "temporary"
    ids.mkdir(), temporary.mkdir()
    command = [sys.executable, "-c", AT_A_TERMINAL, "parity", write(ENDLESS.format(folder=str(ids)))]
    variables = dict(os.environ, TMPDIR=str(temporary), PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, start_new_session=True
    )
    expected = min(4, cores())

    def pids():
        texts = [open(path).read() for path in glob.glob(str(ids / "ids-*"))]
        return [int(pid) for text in texts if text.endswith(".") for pid in text[:-1].split()]

    wait_for(lambda: len(pids()) >= 2 * expected)
    assert os.listdir(str(temporary)) != []
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert b"Traceback" not in err and out == b""
    assert all(map(is_gone, pids()))
    assert os.listdir(str(temporary)) == []
