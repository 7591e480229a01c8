"""The result of `run_parity` as tables, and those as text or, on a terminal that has rich, in colour."""

from typing import Any, Dict, List, NamedTuple, TextIO

from ._ulp import NOT_COMPARABLE

Cells = List[List[str]]


class Table(NamedTuple):
    """A heading, the names of the columns, and rows of text."""

    heading: str
    columns: List[str]
    rows: Cells


def tables(result: Dict[str, Any]) -> List[Table]:
    """One table of the runs, one of the weights by pairs of runs."""
    found = [_of_runs(result)]
    if result["pairs"]:
        found.append(_of_weights(result))
    return found


def _of_runs(result: Dict[str, Any]) -> Table:
    about = result["experiment"]
    heading = "{}\n{}, loss {}, {} steps, batches of {}".format(
        about["title"], about["optimizer"], about["loss"], about["steps"], about["batch_size"]
    )
    columns = ["#", "API", "TensorFlow", "Keras", "Python", "steps", "loss", "frozen bits held", "free moved"]
    rows = []
    for number, run in enumerate(result["runs"], 1):
        row = [str(number), run["api"], run.get("tensorflow") or "-", run.get("keras") or "-", run.get("python") or "-"]
        rows.append(row + (_outcome(run) if run["status"] == "ran" else ["-", run["status"], "-", "-"]))
    return Table(heading, columns, rows)


def _outcome(run: Dict[str, Any]) -> List[str]:
    moved = sum(weight["frozen_moved"] for weight in run["weights"])
    held = "{} of {}".format(run["frozen"] - moved, run["frozen"])
    loss = run["loss"] if isinstance(run["loss"], str) else "{:.9g}".format(run["loss"])
    return [str(run["steps"]), loss, held, "{} of {}".format(run["free_moved"], run["free"])]


def _of_weights(result: Dict[str, Any]) -> Table:
    columns = ["weight"] + ["{}:{}".format(pair["first"] + 1, pair["second"] + 1) for pair in result["pairs"]]
    by_pair = [{weight["address"]: weight for weight in pair["weights"]} for pair in result["pairs"]]
    addresses = list(dict.fromkeys(address for weights in by_pair for address in weights))
    rows = [[address] + [_cell(weights.get(address)) for weights in by_pair] for address in addresses]
    return Table("free elements: largest distance of two runs in ULPs, and where it is", columns, rows)


def _cell(weight: Any) -> str:
    if weight is None:
        return "-"
    if weight["element"] is None:
        return "0"
    distance = "nan" if weight["max_ulp"] == NOT_COMPARABLE else str(weight["max_ulp"])
    return "{} {}".format(distance, weight["element"])


def remarks(result: Dict[str, Any]) -> List[str]:
    """A line for each run that did not run, with the end of its log where it failed."""
    lines = []
    for number, run in enumerate(result["runs"], 1):
        if run["status"] != "ran":
            lines.append("{} {} {}: {}".format(number, run["api"], run["status"], run["reason"]))
            lines.extend("    | " + line for line in run["log"])
    return lines


def verdict(result: Dict[str, Any]) -> str:
    """The last line."""
    tolerance = result["experiment"]["tolerance_ulp"]
    if result["passed"]:
        ran = sum(run["status"] == "ran" for run in result["runs"])
        largest = max((pair["max_ulp"] for pair in result["pairs"]), default=0)
        text = "PASSED: every frozen bit held in {} run{}".format(ran, "" if ran == 1 else "s")
        if not result["pairs"]:
            return text + "; nothing to compare"
        return text + "; free elements agree within {} ULP, {} allowed".format(largest, tolerance)
    return "FAILED: " + "; ".join(_faults(result))


def _faults(result: Dict[str, Any]) -> List[str]:
    faults = []
    for run in result["runs"]:
        if run["status"] not in ("ran", "unavailable"):
            faults.append("{} {}".format(run["api"], "timed out" if run["status"] == "timeout" else "failed"))
        if run["status"] != "ran":
            continue
        if not run["frozen_held"] or run["verify"] is not None:
            faults.append(
                "{}: {}".format(run["api"], run["verify"] or "frozen elements moved, and verify() was silent")
            )
        if run["free"] and not run["free_moved"]:
            faults.append("{}: no free element moved".format(run["api"]))
    tolerance = result["experiment"]["tolerance_ulp"]
    for pair in result["pairs"]:
        names = " and ".join(pair["apis"])
        faults.extend("{}: {}".format(names, reason) for reason in pair["reasons"])
        if pair["max_ulp"] > tolerance:
            worst = max(pair["weights"], key=lambda weight: weight["max_ulp"])
            faults.append(
                "{} are {} ULP apart in {}{} ({} and {}), {} allowed".format(
                    names,
                    pair["max_ulp"],
                    worst["address"],
                    worst["element"],
                    worst["first"],
                    worst["second"],
                    tolerance,
                )
            )
    return faults


# Printing ------------------------------------------------------------------------------------------------------------


def print_result(result: Dict[str, Any], stream: TextIO) -> None:
    """Print tables, remarks and the verdict; in colour on a terminal, where rich is installed."""
    shown = tables(result)
    rich = _rich(stream, shown)
    for table in shown:
        print(table.heading, file=stream)
        if rich is None:
            print(plain(table), file=stream)
        else:
            _print_rich(rich, table)
        print(file=stream)
    for line in remarks(result):
        print(line, file=stream)
    if rich is None:
        print(verdict(result), file=stream)
    else:
        style = "green" if result["passed"] else "bold red"
        rich.print(verdict(result), style=style, markup=False, highlight=False, soft_wrap=True)


def _rich(stream: TextIO, shown: List[Table]) -> Any:
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    widest = max(len(line) for table in shown for line in plain(table).splitlines())
    console = Console(file=stream)
    console.width = max(console.width, widest + 2)  # a terminal wraps long lines; rich would cut them off
    return console


def _print_rich(rich: Any, table: Table) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, padding=(0, 1))
    for column in table.columns:
        shown.add_column(column)
    for row in table.rows:
        shown.add_row(*map(Text, row))
    rich.print(shown)


def plain(table: Table) -> str:
    """Columns of text.

    Example:
        >>> print(plain(Table("", ["weight", "1:2"], [["first/kernel", "0"], ["first/bias", "3 [1]"]])))
        weight        1:2
        first/kernel  0
        first/bias    3 [1]
    """
    lines = [table.columns] + table.rows
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
