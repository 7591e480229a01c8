"""The result of `run_parity` as tables of text: the runs, every two runs, and where they are apart."""

from typing import Any, Dict, List, NamedTuple, Tuple

from .verdict import ulps

_COLUMNS = 6  # weights beside each other


class Table(NamedTuple):
    """A heading, the names of the columns, and rows of text."""

    heading: str
    columns: List[str]
    rows: List[List[str]]


def tables(result: Dict[str, Any]) -> List[Table]:
    """The runs; each two runs; the worst pair of each weight; the weights by pairs."""
    found = [_of_runs(result)]
    if result["pairs"]:
        found.append(_of_pairs(result))
        found.append(_of_weights(result))
        found.extend(_of_weights_by_pairs(result))
    return found


def heading(result: Dict[str, Any]) -> str:
    """What was trained, and by which interpreters."""
    about = result["experiment"]
    lines = [
        about["title"],
        "{}, loss {}, {} steps, batches of {}".format(
            about["optimizer"], about["loss"], about["steps"], about["batch_size"]
        ),
    ]
    if len(result["interpreters"]) > 1:
        lines.extend(_interpreter(result, interpreter) for interpreter in result["interpreters"])
    return "\n".join(lines)


def _interpreter(result: Dict[str, Any], interpreter: Dict[str, Any]) -> str:
    path = interpreter["executable"]
    numbers = [number for number, run in enumerate(result["runs"], 1) if run["interpreter"] == path]
    given = "" if interpreter["given"] == path else " ({})".format(interpreter["given"])
    return "runs {} to {}: {}{}".format(numbers[0], numbers[-1], path, given)


def _of_runs(result: Dict[str, Any]) -> Table:
    columns = ["#", "API", "TensorFlow", "Keras", "Python", "steps", "loss", "frozen bits held", "free moved"]
    rows = []
    for number, run in enumerate(result["runs"], 1):
        row = [str(number), run["api"], run.get("tensorflow") or "-", run.get("keras") or "-", run.get("python") or "-"]
        rows.append(row + (_outcome(run) if run["status"] == "ran" else ["-", run["status"], "-", "-"]))
    return Table(heading(result), columns, rows)


def _outcome(run: Dict[str, Any]) -> List[str]:
    moved = sum(weight["frozen_moved"] for weight in run["weights"])
    held = "{} of {}".format(run["frozen"] - moved, run["frozen"])
    loss = run["loss"] if isinstance(run["loss"], str) else "{:.9g}".format(run["loss"])
    return [str(run["steps"]), loss, held, "{} of {}".format(run["free_moved"], run["free"])]


# Pairs ---------------------------------------------------------------------------------------------------------------


def _of_pairs(result: Dict[str, Any]) -> Table:
    """A triangle: a row and a column for each run that ran."""
    distances = {(pair["first"], pair["second"]): ulps(pair["max_ulp"]) for pair in result["pairs"]}
    ran = sorted({number for pair in distances for number in pair})
    rows = []
    for row in ran[:-1]:
        run = result["runs"][row]
        name = " ".join(filter(None, [run.get("tensorflow"), run["api"]]))
        rows.append([str(row + 1), name] + [distances.get((row, column), "") for column in ran[1:]])
    columns = ["#", ""] + [str(column + 1) for column in ran[1:]]
    return Table("free elements: largest distance of each two runs, in ULPs", columns, rows)


def _of_weights(result: Dict[str, Any]) -> Table:
    """Of each weight the pair that is furthest apart, and its element and values there."""
    rows = []
    for address in _addresses(result):
        of_pairs = [(_rows_of(pair).get(address), pair) for pair in result["pairs"]]
        known = [(weight, pair) for weight, pair in of_pairs if weight is not None]
        weight, pair = max(known, key=lambda both: both[0]["max_ulp"])
        if weight["element"] is None:
            rows.append([address, "0", "", "", "", ""])
        else:
            values = [_value(weight["first"]), _value(weight["second"])]
            rows.append([address, ulps(weight["max_ulp"]), _element(weight), _pair(pair)] + values)
    return Table("each weight's largest distance", ["weight", "ULP", "at", "runs", "first", "second"], rows)


def _of_weights_by_pairs(result: Dict[str, Any]) -> List[Table]:
    """Each weight in each pair; pairs that say the same stand in one row, and those without a distance in the last."""
    addresses = _addresses(result)
    apart = [address for address in addresses if any(_cell(pair, address) != "0" for pair in result["pairs"])]
    found = []
    for start in range(0, len(apart), _COLUMNS):
        shown = apart[start : start + _COLUMNS]
        groups: Dict[Tuple[str, ...], List[str]] = {}
        for pair in result["pairs"]:
            groups.setdefault(tuple(_cell(pair, address) for address in shown), []).append(_pair(pair))
        nothing = groups.pop(("0",) * len(shown), [])
        rows = [list(cells) + [" ".join(pairs)] for cells, pairs in groups.items()]
        if nothing:
            rows.append(["0"] * len(shown) + ["all other pairs"])
        found.append(Table("each weight in each two runs: ULPs, and where", shown + ["runs"], rows))
    return found


def _addresses(result: Dict[str, Any]) -> List[str]:
    return list(dict.fromkeys(weight["address"] for pair in result["pairs"] for weight in pair["weights"]))


def _rows_of(pair: Dict[str, Any]) -> Dict[str, Any]:
    return {weight["address"]: weight for weight in pair["weights"]}


def _pair(pair: Dict[str, Any]) -> str:
    return "{}:{}".format(pair["first"] + 1, pair["second"] + 1)


def _cell(pair: Dict[str, Any], address: str) -> str:
    weight = _rows_of(pair).get(address)
    if weight is None:
        return "-"
    if weight["element"] is None:
        return "0"
    return "{} {}".format(ulps(weight["max_ulp"]), _element(weight))


def _element(weight: Dict[str, Any]) -> str:
    return str(weight["element"]).replace(" ", "")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else "{:.9g}".format(value)


# Text ----------------------------------------------------------------------------------------------------------------


def remarks(result: Dict[str, Any]) -> List[str]:
    """A line for each run that did not run, with the end of its log where it failed."""
    lines = []
    for number, run in enumerate(result["runs"], 1):
        if run["status"] != "ran":
            lines.append("{} {} {}: {}".format(number, run["api"], run["status"], run["reason"]))
            lines.extend("    | " + line for line in run["log"])
    return lines
