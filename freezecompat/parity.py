"""Train one experiment under several APIs, one process each, and compare what they made of the weights.

An experiment is a Python file that defines

    build(keras)         a model, built or not
    initial_weights()    arrays in get_weights() order
    data()               x, y: arrays with the same number of rows
    SPEC                 what FreezeSpec takes
    OPTIMIZER            {"name": "adam", "learning_rate": 0.01, ...}
    LOSS                 "mse", "mae", "binary_crossentropy", "categorical_crossentropy", or a function of TensorFlow, y
                         and the prediction that returns a scalar
    STEPS                optimizer steps
    TOLERANCE_ULP        how far apart a free element of two runs may be
    BATCH_SIZE           optional; by default all rows. Batches in order, from the start again at the end
    TITLE                optional

Weights and data are arrays, so that initializers and random streams play no part.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

from ._parity_experiment import locate
from ._parity_pairs import compare
from ._parity_run import APIS, START
from ._ulp import hex_bits
from .exceptions import ArgumentError, MissingDependency

__all__ = ["APIS", "doctor", "run_parity"]

_LOG_LINES = 12

# For the children only, and only where the user has not set them. oneDNN computes a dense layer as one fused kernel in
# a graph and as several in eager mode, so that two APIs of one TensorFlow would be tens of ULPs apart, and that far
# only on this processor. Set TF_ENABLE_ONEDNN_OPTS=1 to compare with it.
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}


def run_parity(
    experiment: Union[str, "os.PathLike[str]"],
    *,
    apis: Optional[Sequence[str]] = None,
    timeout: Optional[float] = None,
    progress: Optional[Callable[[str], None]] = None,
) -> Dict[str, Any]:
    """Train an experiment under every API that this interpreter offers and compare the weights.

    Args:
        experiment: "problem-1", "problem-2", or the path of a file; see `freezecompat.parity`.
        apis: some of "tf1-eager", "tf1-graph", "keras-fit", "keras-loop"; by default all that can run here.
        timeout: seconds that one run may take; by default it may take any time.
        progress: called with a line of text before and after each run.

    Returns:
        Plain data, ready for JSON:

        - "experiment": its name, path, title, optimizer, loss, steps, batch size and tolerance;
        - "runs": one row per API with "interpreter", "api", "status" ("ran", "unavailable", "failed", "timeout"),
          "reason", "log" (the last lines of one that failed), "seconds", the versions, and of one that ran "steps",
          "loss" (of the last step, before its update), "losses", "frozen", "frozen_held", "verify" (what it said, None
          if silent), "free", "free_moved", and "weights": one row per weight, with its final "values", their "bits" and
          the freeze "mask". Values that JSON has no number for are "nan", "inf" and "-inf";
        - "pairs": one row per two runs that ran: "first" and "second" (positions in "runs"), "max_ulp", "within" the
          tolerance, and per weight the largest distance of a free element, where it is and both values;
        - "passed": every run that could run ran, held every frozen bit and moved free elements, and every pair is
          within the tolerance.

    Raises:
        ArgumentError: there is no such experiment or API, the experiment is broken, or an API that was asked for cannot
            run here.
        MissingDependency: no TensorFlow is installed.
    """
    path = locate(experiment)
    runs = []
    for api in _wanted(apis):
        if progress is not None:
            progress("{} ...".format(api))
        run = _run_one(sys.executable, api, path, timeout)
        if progress is not None:
            progress("{}: {} ({:.1f} s)".format(api, run["status"], run["seconds"]))
        _check(run, asked_for=apis is not None)
        runs.append(run)
    _check_together(runs)
    about = _about(runs, os.fspath(experiment), path)
    pairs = compare(runs, about["tolerance_ulp"])
    passed = all(map(_is_right, runs)) and all(pair["within"] for pair in pairs)
    for run in runs:
        for key in ("arrays", "ordinals", "experiment"):
            run.pop(key, None)
    return {"freezecompat": 1, "experiment": about, "runs": runs, "pairs": pairs, "passed": passed}


def doctor() -> Dict[str, Any]:
    """What this interpreter has and offers, found out in a process of its own.

    Returns:
        The versions of Python, numpy, TensorFlow, its Keras and tf_keras (None where there is none), "apis" (reason why
        not, or None, by API), and "backend", what `detect_backend()` says there.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _child(sys.executable, folder, ["doctor"], None)


def _wanted(apis: Optional[Sequence[str]]) -> List[str]:
    if apis is None:
        return list(APIS)
    wanted = [apis] if isinstance(apis, str) else list(apis)
    for api in wanted:
        if api not in APIS:
            raise ArgumentError("there is no API {!r}: give some of {}".format(api, ", ".join(APIS)))
    if not wanted:
        raise ArgumentError("no API is asked for: give some of {}".format(", ".join(APIS)))
    return [api for api in APIS if api in wanted]


# One run -------------------------------------------------------------------------------------------------------------


def _run_one(interpreter: str, api: str, path: str, timeout: Optional[float]) -> Dict[str, Any]:
    """Train under one API of one interpreter: the row of that run."""
    with tempfile.TemporaryDirectory() as folder:
        run = _child(interpreter, folder, ["train", api, path], timeout)
        run["api"] = api
        if run["status"] == "ran":
            with np.load(os.path.join(folder, "result.npz")) as arrays:
                run["arrays"] = {name: arrays[name] for name in arrays.files}
            _summarize(run)
    return run


def _child(interpreter: str, folder: str, action: List[str], timeout: Optional[float]) -> Dict[str, Any]:
    """Run this package in another process, and read its result."""
    result, log = os.path.join(folder, "result"), os.path.join(folder, "log")
    here = os.path.dirname(os.path.abspath(__file__))
    command = [interpreter, "-c", START, here, action[0], result] + action[1:]
    environment = dict(_ENVIRONMENT, **os.environ)
    began = time.monotonic()
    failure = None
    with open(log, "wb") as output:
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=timeout,
            )
            if done.returncode:
                failure = ("failed", "it ended with exit code {}".format(done.returncode))
        except subprocess.TimeoutExpired:
            failure = ("timeout", "it was stopped after {:g} s".format(timeout or 0))
    found = {"interpreter": interpreter, "status": None, "reason": None, "log": []}
    if os.path.exists(result + ".json"):
        with open(result + ".json") as file:
            found.update(json.load(file))
    found["seconds"] = round(time.monotonic() - began, 3)
    if failure is not None:
        found["status"], found["reason"] = failure
        with open(log, encoding="utf-8", errors="replace") as output:
            found["log"] = output.read().splitlines()[-_LOG_LINES:]
    return found


def _summarize(run: Dict[str, Any]) -> None:
    """Turn the arrays of a run that ran into plain data, and count over its weights."""
    losses = np.array(run["losses"], np.float64)
    run["losses"] = _plain(losses)
    run["losses_bits"] = hex_bits(losses)
    run["steps"] = len(losses)
    run["loss"], run["loss_bits"] = run["losses"][-1], run["losses_bits"][-1]
    for k, weight in enumerate(run["weights"]):
        final = run["arrays"]["final_{}".format(k)]
        weight["values"], weight["bits"] = _plain(final), hex_bits(final)
        weight["mask"] = run["arrays"]["mask_{}".format(k)].tolist()
    trainable = [weight for weight in run["weights"] if weight["trainable"]]
    run["frozen"] = sum(weight["frozen"] for weight in run["weights"])
    run["frozen_held"] = not any(weight["frozen_moved"] for weight in run["weights"])
    run["free"] = sum(weight["free"] for weight in trainable)
    run["free_moved"] = sum(weight["free_moved"] for weight in trainable)


def _plain(array: np.ndarray) -> Any:
    """Nested lists, with text for what JSON has no number for.

    Example:
        >>> _plain(np.array([[0.5, np.nan], [-np.inf, 1]]))
        [[0.5, 'nan'], ['-inf', 1.0]]
    """
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    if array.ndim == 0:
        return str(float(array))
    return [_plain(part) for part in array]


# What the runs say ---------------------------------------------------------------------------------------------------


def _check(run: Dict[str, Any], asked_for: bool) -> None:
    if run["status"] == "no tensorflow":
        raise MissingDependency(run["reason"])
    if run["status"] == "broken" and run["tensorflow"] is None:  # wrong by itself, whatever the API
        raise ArgumentError(run["reason"])
    if run["status"] == "unavailable" and asked_for:
        raise ArgumentError("{} cannot run here: {}".format(run["api"], run["reason"]))


def _check_together(runs: List[Dict[str, Any]]) -> None:
    possible = [run for run in runs if run["status"] != "unavailable"]
    if not possible:
        raise ArgumentError("no API can run here: " + "; ".join("{api}: {reason}".format(**run) for run in runs))
    if all(run["status"] == "broken" for run in possible):
        raise ArgumentError(possible[0]["reason"])
    for run in possible:
        if run["status"] == "broken":
            run["status"] = "failed"
    ran = [run for run in possible if run["status"] == "ran"]
    for run in ran[1:]:
        for ordinal, address in ran[0]["ordinals"].items():
            other = run["ordinals"].get(ordinal)
            if other != address:
                raise ArgumentError(
                    "SPEC's {} is {} under {} and {} under {}: give the weight's address instead".format(
                        ordinal, address, ran[0]["api"], other, run["api"]
                    )
                )


def _about(runs: List[Dict[str, Any]], name: str, path: str) -> Dict[str, Any]:
    """What the first run that got so far says of the experiment."""
    about = dict(
        name=name, path=path, title=name, optimizer=None, loss=None, steps=None, batch_size=None, tolerance_ulp=0
    )
    about.update(next((run["experiment"] for run in runs if run.get("experiment")), {}))
    return about


def _is_right(run: Dict[str, Any]) -> bool:
    if run["status"] == "unavailable":
        return True
    if run["status"] != "ran":
        return False
    return run["frozen_held"] and run["verify"] is None and (run["free_moved"] > 0 or run["free"] == 0)
