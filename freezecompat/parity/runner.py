"""Run one experiment under every API of every interpreter, and put together what came of it."""

import contextlib
import os
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Union

from ..exceptions import ArgumentError
from . import judge
from .apis import wanted
from .experiment import locate
from .interpreters import Interpreter, find
from .pairs import compare
from .processes import Command, Ended, side_by_side
from .progress import Event, Listener
from .runs import Run

_Path = Union[str, "os.PathLike[str]"]


def run_parity(
    experiment: _Path,
    *,
    pythons: Optional[Sequence[_Path]] = None,
    apis: Optional[Sequence[str]] = None,
    timeout: Optional[float] = None,
    logs: Optional[_Path] = None,
    progress: Optional[Listener] = None,
) -> Dict[str, Any]:
    """Train an experiment under every API of this and other interpreters, and compare the weights.

    Each run is a process of its own; as many run side by side as there are cores. The other interpreters need
    TensorFlow and numpy, and no freezecompat.

    Args:
        experiment: "problem-1", "problem-2", or the path of a file; see `freezecompat.parity`.
        pythons: other interpreters: paths, folders of virtual environments, names of tox environments or of commands.
        apis: some of "tf1-eager", "tf1-graph", "keras-fit", "keras-loop"; by default all that can run.
        timeout: seconds that one run may take; by default it may take any time.
        logs: a folder to keep what each run printed, made if it is not there; by default only the last lines of a run
            that failed are kept, in its row.
        progress: called with an `Event` when a run starts and when it ends; `print` will do.

    Returns:
        Plain data, ready for JSON; docs/parity.md describes it and docs/parity.schema.json defines it:

        - "experiment": its name, path, title, optimizer, loss, steps, batch size and tolerance;
        - "interpreters": one row each with "given", "executable", "python" and "present";
        - "runs": one row per interpreter and API with "status" ("ran", "unavailable", "failed", "timeout"), "reason",
          "log" (the last lines of one that failed), "seconds", the versions, and of one that ran "steps", "loss" (of
          the last step, before its update), "losses", "frozen", "frozen_held", "verify" (what it said, None if
          silent), "free", "free_moved", and "weights": one row per weight, with its "initial" and final "values",
          their "bits" and the freeze "mask". Values that JSON has no number for are "nan", "inf" and "-inf";
        - "pairs": one row per two runs that ran: "first" and "second" (positions in "runs"), "max_ulp", "within" the
          tolerance, and per weight the largest distance of a free element, where it is and both values;
        - "passed": every run that could run ran, held every frozen bit and moved free elements, and every pair is
          within the tolerance.

    Raises:
        ArgumentError: there is no such experiment, interpreter or API, the experiment is broken, or an API that was
            asked for cannot run.
        MissingDependency: no TensorFlow is installed, and no other interpreter is given.

    Example (with TensorFlow):
        >>> import freezecompat as fc
        >>> fc.run_parity("problem-1", progress=print)["passed"]  # doctest: +SKIP
        True
    """
    path = locate(experiment)
    asked = wanted(apis)
    _check_timeout(timeout)
    interpreters = find([os.fspath(python) for python in _listed(pythons)])
    with _folder(None) as results, _folder(logs) as kept:
        runs = _runs(interpreters, asked, results, results if logs is None else kept)
        rows = _train(runs, path, timeout, len(interpreters) == 1, apis is not None, logs is not None, progress)
    judge.check_together(rows)
    about = _about(rows, os.fspath(experiment), path)
    pairs = compare(rows, about["tolerance_ulp"])
    passed = all(map(judge.is_right, rows)) and all(pair["within"] for pair in pairs)
    for row in rows:
        for key in ("arrays", "ordinals", "experiment"):
            row.pop(key, None)
    return {
        "freezecompat": 1,
        "experiment": about,
        "interpreters": [dict(interpreter._asdict()) for interpreter in interpreters],
        "runs": rows,
        "pairs": pairs,
        "passed": passed,
    }


def _listed(pythons: Optional[Sequence[_Path]]) -> Sequence[_Path]:
    if pythons is None:
        return []
    return [pythons] if isinstance(pythons, (str, os.PathLike)) else pythons


def _check_timeout(timeout: Optional[float]) -> None:
    if timeout is not None and not 0 < timeout < float("inf"):
        raise ArgumentError("timeout is {!r}, it must be a number of seconds above 0".format(timeout))


@contextlib.contextmanager
def _folder(path: Optional[_Path]) -> Iterator[str]:
    if path is None:
        with tempfile.TemporaryDirectory(prefix="freezecompat-") as folder:
            yield folder
        return
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ArgumentError("can't keep logs in {}: {}".format(os.fspath(path), error.strerror)) from error
    yield os.path.abspath(path)


def _runs(interpreters: List[Interpreter], apis: List[str], results: str, logs: str) -> List[Run]:
    runs = []
    for interpreter in interpreters:
        for api in apis:
            name = "{:02}-{}".format(len(runs) + 1, api)
            runs.append(Run(interpreter, api, os.path.join(results, name), os.path.join(logs, name + ".log")))
    return runs


def _train(
    runs: List[Run],
    path: str,
    timeout: Optional[float],
    alone: bool,
    asked_for: bool,
    keep_logs: bool,
    progress: Optional[Listener],
) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = [{}] * len(runs)
    names: List[str] = []
    training: Set[int] = set()

    def tell(number: int, tensorflow: Optional[str], status: str, seconds: Optional[float]) -> None:
        if progress is not None:
            run = runs[number]
            python = run.interpreter.python
            progress(Event(number + 1, len(runs), python, tensorflow, run.api, status, seconds))

    def started(number: int) -> None:
        tell(number, None, "started", None)

    def going_on(number: int) -> None:
        if number not in training and runs[number].begun():
            training.add(number)
            tell(number, runs[number].known()["tensorflow"], "training", None)

    def ended(number: int, end: Ended) -> None:
        run = runs[number]
        row = rows[number] = run.row(end)
        if keep_logs:
            row["log_file"] = _rename(run.log, row, names)
        judge.check(row, run.interpreter, alone, asked_for)
        tell(number, row["tensorflow"], row["status"], row["seconds"])

    commands: List[Command] = [run.command("train", run.api, path) for run in runs]
    side_by_side(commands, ended, started, going_on, timeout)
    return rows


def _rename(log: str, row: Dict[str, Any], names: List[str]) -> str:
    """Name a log after its run, once TensorFlow's version is known."""
    stem = "{}-{}".format(row["tensorflow"] or "python{}".format(row["python"]), row["api"])
    name, count = stem + ".log", 1
    while name in names:
        count += 1
        name = "{}-{}.log".format(stem, count)
    names.append(name)
    path = os.path.join(os.path.dirname(log), name)
    if os.path.exists(log):
        os.replace(log, path)
    return path


def _about(runs: List[Dict[str, Any]], name: str, path: str) -> Dict[str, Any]:
    """What the first run that got so far says of the experiment."""
    about = dict(
        name=name, path=path, title=name, optimizer=None, loss=None, steps=None, batch_size=None, tolerance_ulp=0
    )
    about.update(next((run["experiment"] for run in runs if run.get("experiment")), {}))
    return about
