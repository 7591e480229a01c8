"""The verdict on a result, in one line, and how its runs are named in text."""

from typing import Any, Dict, List

from .judge import faults
from .ulp import NOT_COMPARABLE


def verdict(result: Dict[str, Any]) -> str:
    """PASSED or FAILED, and why."""
    if not result["passed"]:
        return "FAILED: " + "; ".join(_faults_of_runs(result) + _faults_of_pairs(result))
    ran = sum(run["status"] == "ran" for run in result["runs"])
    text = "PASSED: every frozen bit held in {} run{}".format(ran, "" if ran == 1 else "s")
    if not result["pairs"]:
        return text + "; nothing to compare"
    largest = max(pair["max_ulp"] for pair in result["pairs"])
    return text + "; free elements agree within {} ULP, {} allowed".format(
        largest, result["experiment"]["tolerance_ulp"]
    )


def names(result: Dict[str, Any]) -> List[str]:
    """Of each run: its API, and where there are several interpreters its number and TensorFlow as well.

    Example:
        >>> runs = [{"interpreter": "a", "api": "keras-fit", "tensorflow": "1.15.5"}]
        >>> names({"runs": runs})
        ['keras-fit']
        >>> names({"runs": runs + [{"interpreter": "b", "api": "keras-fit", "tensorflow": None}]})
        ['1 (1.15.5 keras-fit)', '2 (keras-fit)']
    """
    runs = result["runs"]
    if len({run["interpreter"] for run in runs}) < 2:
        return [run["api"] for run in runs]
    return [
        "{} ({})".format(number, " ".join(filter(None, [run.get("tensorflow"), run["api"]])))
        for number, run in enumerate(runs, 1)
    ]


def ulps(distance: int) -> str:
    """A distance as text: a NaN has no distance from a number."""
    return "nan" if distance == NOT_COMPARABLE else str(distance)


def _faults_of_runs(result: Dict[str, Any]) -> List[str]:
    return [fault for name, run in zip(names(result), result["runs"]) for fault in faults(run, name)]


def _faults_of_pairs(result: Dict[str, Any]) -> List[str]:
    """One line for all pairs that are too far apart, and one for each other reason."""
    found: List[str] = []
    of_reason: Dict[str, List[Dict[str, Any]]] = {}
    for pair in result["pairs"]:
        for reason in pair["reasons"]:
            of_reason.setdefault(reason, []).append(pair)
    found.extend("{}: {}{}".format(_both(result, p[0]), reason, _more(p)) for reason, p in of_reason.items())
    tolerance = result["experiment"]["tolerance_ulp"]
    too_far = sorted((pair for pair in result["pairs"] if pair["max_ulp"] > tolerance), key=lambda p: -p["max_ulp"])
    if too_far:
        pair = too_far[0]
        worst = max(pair["weights"], key=lambda weight: weight["max_ulp"])
        found.append(
            "{} are {} ULP apart in {}{} ({} and {}), {} allowed{}".format(
                _both(result, pair),
                ulps(pair["max_ulp"]),
                worst["address"],
                worst["element"],
                worst["first"],
                worst["second"],
                tolerance,
                _more(too_far),
            )
        )
    return found


def _both(result: Dict[str, Any], pair: Dict[str, Any]) -> str:
    of_run = names(result)
    return "{} and {}".format(of_run[pair["first"]], of_run[pair["second"]])


def _more(pairs: List[Any]) -> str:
    more = len(pairs) - 1
    return " ({} more pair{} too)".format(more, "" if more == 1 else "s") if more else ""
