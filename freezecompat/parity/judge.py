"""What the runs say: usage errors that only they could find, and whether they are right."""

from typing import Any, Dict, List

from ..exceptions import ArgumentError, MissingDependency
from .interpreters import Interpreter


def check(run: Dict[str, Any], interpreter: Interpreter, alone: bool, asked_for: bool) -> None:
    """Look at one run that has just ended, and settle its status.

    Args:
        run: its row.
        interpreter: what ran it.
        alone: there is no other interpreter.
        asked_for: its API was asked for by name.

    Raises:
        MissingDependency, ArgumentError: nothing that is still to come could change that the question was wrong.
    """
    if run["status"] == "no tensorflow":
        if alone:
            raise MissingDependency(run["reason"] + ': pip install "freezecompat[tensorflow]"')
        if interpreter.present:  # it was not asked for by name
            run.update(status="unavailable", log=[])
        else:
            run.update(status="failed", reason="{0}: {1} -m pip install tensorflow".format(run["reason"], quoted(run)))
    elif run["status"] == "broken" and alone and run["tensorflow"] is None:  # wrong by itself, whatever the API
        raise ArgumentError(run["reason"])
    elif run["status"] == "unavailable" and asked_for:
        where = "here" if interpreter.present else "with {}".format(interpreter.given)
        raise ArgumentError("{} cannot run {}: {}".format(run["api"], where, run["reason"]))


def quoted(run: Dict[str, Any]) -> str:
    path = str(run["interpreter"])
    return '"{}"'.format(path) if " " in path else path


def check_together(runs: List[Dict[str, Any]]) -> None:
    """Look at all of them.

    Raises:
        ArgumentError: none could run, the experiment is broken wherever it was built, or an ordinal of its spec means
            different weights.
    """
    possible = [run for run in runs if run["status"] != "unavailable"]
    if not possible:
        raise ArgumentError("no API can run here: " + "; ".join(sorted(set(map(_reason, runs)), key=_in(runs))))
    _check_broken(runs, [run for run in possible if run["status"] == "broken"])
    _check_ordinals([run for run in possible if run["status"] == "ran"])


def _check_broken(runs: List[Dict[str, Any]], broken: List[Dict[str, Any]]) -> None:
    """What is broken everywhere is the experiment's fault, what is broken somewhere is a run that failed."""
    in_model = [run for run in broken if run["tensorflow"] is not None]
    had_tensorflow = [run for run in runs if run["tensorflow"] is not None and run["status"] != "unavailable"]
    if in_model and len(in_model) == len(had_tensorflow):
        raise ArgumentError(in_model[0]["reason"])
    if broken and not in_model and not any(run.get("experiment") for run in runs):
        raise ArgumentError(broken[0]["reason"])
    for run in broken:
        run["status"] = "failed"


def _reason(run: Dict[str, Any]) -> str:
    return "{api}: {reason}".format(**run)


def _in(runs: List[Dict[str, Any]]) -> Any:
    return list(map(_reason, runs)).index


def _check_ordinals(ran: List[Dict[str, Any]]) -> None:
    for run in ran[1:]:
        for ordinal, address in ran[0]["ordinals"].items():
            other = run["ordinals"].get(ordinal)
            if other != address:
                raise ArgumentError(
                    "SPEC's {} is {} under {} and {} under {}: give the weight's address instead".format(
                        ordinal, address, _named(ran[0], run), other, _named(run, ran[0])
                    )
                )


def _named(run: Dict[str, Any], other: Dict[str, Any]) -> str:
    if run["interpreter"] == other["interpreter"]:
        return str(run["api"])
    return "{api} of TensorFlow {tensorflow} ({interpreter})".format(**run)


def faults(run: Dict[str, Any], name: str) -> List[str]:
    """What is wrong with a run: it did not run although it could, a frozen bit did not hold, no free element moved."""
    if run["status"] == "unavailable":
        return []
    if run["status"] != "ran":
        return ["{} {}".format(name, "timed out" if run["status"] == "timeout" else "failed")]
    found = []
    if not run["frozen_held"] or run["verify"] is not None:
        found.append("{}: {}".format(name, run["verify"] or "frozen elements moved, and verify() was silent"))
    if run["free"] and not run["free_moved"]:
        found.append("{}: no free element moved".format(name))
    return found


def is_right(run: Dict[str, Any]) -> bool:
    """It ran, held every frozen bit, and moved free elements; or it could not run at all."""
    return not faults(run, run["api"])
