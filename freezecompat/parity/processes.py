"""Run child processes side by side, and leave none behind.

Each child leads a process group of its own, so that what it started itself is stopped with it. While children run,
SIGINT, SIGTERM and SIGHUP are noted and acted on between two looks at the children: no exception can then come in the
moment between the start of a child and the note that it was started.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

_LOOK = 0.02  # seconds between two looks
_GRACE = 2.0  # seconds that a child has to end by itself once it is told to

_WINDOWS = sys.platform == "win32"


class Command(NamedTuple):
    """What to run.

    Attributes:
        arguments: program and arguments.
        environment: all its variables.
        log: file that gets what it writes to stdout and stderr.
    """

    arguments: List[str]
    environment: Dict[str, str]
    log: str


class Ended(NamedTuple):
    """How a child ended.

    Attributes:
        fault: None where it ended with exit code 0, else a few words.
        timed_out: it was stopped because its time was over.
        seconds: how long it ran.
    """

    fault: Optional[str]
    timed_out: bool
    seconds: float


class _Running(NamedTuple):
    number: int
    process: "subprocess.Popen[bytes]"
    began: float


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def side_by_side(
    commands: Sequence[Command],
    ended: Callable[[int, Ended], Any],
    started: Callable[[int], Any] = lambda number: None,
    going_on: Callable[[int], Any] = lambda number: None,
    timeout: Optional[float] = None,
) -> None:
    """Run all commands, as many at a time as there are cores.

    Args:
        commands: started in this order.
        ended: called in this thread with the position and the end of each command.
        started: called in this thread with the position of each command that starts.
        going_on: called in this thread with the position of each command that runs, again and again.
        timeout: seconds that one command may take.

    Raises:
        KeyboardInterrupt: on SIGINT, SystemExit on SIGTERM and SIGHUP, and whatever a callback raises. No child is left.
    """
    waiting = list(range(len(commands)))
    running: List[_Running] = []
    with _Signals() as signals:
        try:
            while waiting or running:
                while waiting and len(running) < cores():
                    number = waiting.pop(0)
                    started(number)
                    try:
                        running.append(_Running(number, _start(commands[number]), time.monotonic()))
                    except OSError as error:
                        ended(number, Ended("it can't be started: {}".format(error.strerror or error), False, 0.0))
                for run in list(running):
                    going_on(run.number)
                    end = _look_at(run, timeout)
                    if end is not None:
                        running.remove(run)
                        ended(run.number, end)
                signals.act()
                time.sleep(_LOOK)
        except BaseException:
            _stop(running, signals)
            raise


def _start(command: Command) -> "subprocess.Popen[bytes]":
    options: Dict[str, Any] = {"start_new_session": True}
    if _WINDOWS:
        options = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    with open(command.log, "wb") as log:
        return subprocess.Popen(
            command.arguments,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=command.environment,
            **options,
        )


def _look_at(run: _Running, timeout: Optional[float]) -> Optional[Ended]:
    code = run.process.poll()
    seconds = time.monotonic() - run.began
    if code is not None:
        _stop([run])  # what it may have started and left behind
        return Ended(_fault(code), False, seconds)
    if timeout is not None and seconds > timeout:
        _stop([run])
        return Ended("it was stopped after {:g} s".format(timeout), True, seconds)
    return None


def _fault(code: int) -> Optional[str]:
    if code >= 0 or _WINDOWS:
        return "it ended with exit code {}".format(code) if code else None
    try:
        return "it was ended by {}".format(signal.Signals(-code).name)
    except ValueError:
        return "it was ended by signal {}".format(-code)


# Stopping ------------------------------------------------------------------------------------------------------------


def _stop(runs: Sequence[_Running], signals: Optional["_Signals"] = None) -> None:
    """End the groups of these children: told first, then, after a grace or on a second signal, killed."""
    noted = signals.count if signals is not None else 0
    for run in runs:
        _tell(run.process, "SIGTERM")
    deadline = time.monotonic() + _GRACE
    while any(map(_is_there, runs)) and time.monotonic() < deadline:
        if signals is not None and signals.count > noted:
            break
        time.sleep(_LOOK)
    for run in runs:
        _tell(run.process, "SIGKILL")
        run.process.wait()


def _is_there(run: _Running) -> bool:
    if run.process.poll() is None:
        return True
    if _WINDOWS:
        return False
    try:
        os.killpg(run.process.pid, 0)
    except OSError:
        return False
    return True


def _tell(process: "subprocess.Popen[bytes]", name: str) -> None:
    if _WINDOWS:
        subprocess.call(
            ["taskkill", "/F", "/T", "/PID", str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        return
    try:
        os.killpg(process.pid, getattr(signal, name))
    except OSError:  # nobody is left in that group
        pass


class _Signals:
    """Notes signals, where nobody else has asked for them; only a main thread can."""

    def __init__(self) -> None:
        self.count = 0
        self._number: Optional[int] = None
        self._before: Dict[int, Any] = {}

    def __enter__(self) -> "_Signals":
        if threading.current_thread() is threading.main_thread():
            for name, default in (
                ("SIGINT", signal.default_int_handler),
                ("SIGTERM", signal.SIG_DFL),
                ("SIGHUP", signal.SIG_DFL),  # the children are in no terminal's session any more
            ):
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) == default:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1
        self._number = number

    def act(self) -> None:
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        if self._number is not None:
            raise SystemExit(128 + self._number)

    def __exit__(self, kind: Any, *args: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is None:
            self.act()
