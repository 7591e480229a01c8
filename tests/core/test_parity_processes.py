"""Children run side by side, and none is left behind, whatever ends them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from freezecompat.parity import processes
from freezecompat.parity.processes import Command, side_by_side

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups of POSIX")

# A child with a child of its own; both write their process ids, and sleep far longer than a test may take.
FAMILY = """
import os, subprocess, sys, time
{before}
child = subprocess.Popen([sys.executable, "-c", "import time; {grandchild}time.sleep(600)"])
with open("{ids}.part", "w") as file:
    file.write("{{}} {{}}".format(os.getpid(), child.pid))
os.rename("{ids}.part", "{ids}")
{after}
"""
SLEEP = "time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "


def family(ids, before="", after=SLEEP, grandchild=""):
    return FAMILY.format(ids=ids, before=before, after=after, grandchild=grandchild)


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_gone(pid):
    """No such process, or one that nobody has buried yet."""
    try:
        with open("/proc/{}/stat".format(pid)) as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        if os.path.isdir("/proc/self"):
            return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def pids(path):
    wait_for(path.exists)
    return list(map(int, path.read_text().split()))


def assert_gone(path):
    both = pids(path)
    assert len(both) == 2
    wait_for(lambda: all(map(is_gone, both)))


@pytest.fixture
def commands(tmp_path):
    def commands(*programs):
        return [
            Command([sys.executable, "-c", text], dict(os.environ), str(tmp_path / "{}.log".format(number)))
            for number, text in enumerate(programs)
        ]

    return commands


@pytest.fixture
def run(commands):
    def run(*programs, **options):
        ends = {}
        side_by_side(commands(*programs), ends.__setitem__, **options)
        return ends

    return run


def test_ends(run, tmp_path):
    """How each child ended, and what it printed."""
    ends = run("print('fine')", "import sys; sys.exit(3)", "import os; os.kill(os.getpid(), 9)")
    assert [ends[k].fault for k in range(3)] == [None, "it ended with exit code 3", "it was ended by SIGKILL"]
    assert not any(end.timed_out for end in ends.values())
    assert (tmp_path / "0.log").read_text() == "fine\n"


def test_as_many_at_a_time_as_there_are_cores(run, monkeypatch):
    """With two cores, two run at any time, and in the order of the list they start."""
    monkeypatch.setattr(processes, "cores", lambda: 2)
    going_on, most, order = set(), [], []

    def started(number):
        order.append(number)
        going_on.add(number)
        most.append(len(going_on))

    class Ends(dict):
        def __setitem__(self, number, end):
            going_on.discard(number)

    side_by_side_of = Ends()
    commands = ["import time; time.sleep(0.2)"] * 5
    run_of = [Command([sys.executable, "-c", text], dict(os.environ), os.devnull) for text in commands]
    side_by_side(run_of, side_by_side_of.__setitem__, started)
    assert order == [0, 1, 2, 3, 4] and max(most) == 2


def test_program_that_is_not_there(commands):
    """What can't be started is an end like others."""
    ends = {}
    side_by_side([commands("")[0]._replace(arguments=["/no/such/program"])], ends.__setitem__)
    assert ends[0].fault.startswith("it can't be started: No such file")


def test_timeout_stops_the_whole_group(run, tmp_path):
    """A child that takes too long goes with its own child; the others come to their end."""
    ids = tmp_path / "ids"
    ends = run(family(ids), "print('fine')", timeout=3)
    assert ends[0].timed_out and ends[0].fault == "it was stopped after 3 s"
    assert ends[1].fault is None
    assert_gone(ids)


def test_deaf_children_are_killed(run, tmp_path):
    """Who ignores SIGTERM is killed after a grace."""
    ids = tmp_path / "ids"
    assert run(family(ids, before="import signal; signal.signal(15, signal.SIG_IGN)", grandchild=DEAF), timeout=3)[
        0
    ].timed_out
    assert_gone(ids)


def test_what_a_child_leaves_behind_is_ended(run, tmp_path):
    """A child that ends and leaves a process running: that is ended too."""
    ids = tmp_path / "ids"
    assert run(family(ids, after=""))[0].fault is None
    assert_gone(ids)


def test_exception_of_a_callback(commands, tmp_path):
    """Whatever is raised on this side, the children are stopped first."""
    ids = tmp_path / "ids"

    def going_on(number):
        if ids.exists():
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side(commands(family(ids)), lambda number, end: None, going_on=going_on)
    assert_gone(ids)


# Whoever runs the tests may ignore signals (nohup, a job in the background), and a process inherits that.
PARENT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
from freezecompat.parity.processes import Command, side_by_side
side_by_side([Command([sys.executable, "-c", sys.argv[1]], dict(os.environ), os.devnull)], print)
"""


@pytest.mark.parametrize(
    "number, code", [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_signals(number, code, tmp_path):
    """Ctrl-C, a request to end and the loss of the terminal end the children first, grandchildren too."""
    ids = tmp_path / "ids"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    parent = subprocess.Popen([sys.executable, "-c", PARENT, family(ids)], stderr=subprocess.PIPE, env=environment)
    pids(ids)
    parent.send_signal(number)
    errors = parent.communicate(timeout=60)[1].decode()
    assert parent.returncode in (code, 1 if number == signal.SIGINT else code), errors  # 1 on Python 3.7
    assert_gone(ids)


def test_handlers_are_put_back(run):
    """Afterwards signals do what they did before; handlers of others are never touched."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run("")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
