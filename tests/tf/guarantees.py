"""What the sweep has shown: the tables that it prints, its results in docs/guarantees, and the page that is made of those.

    python tf/guarantees.py         write docs/guarantees.md anew

A test says with the fixture `shows` what it has shown of its case: a row, in which a cell is "equal", "no", ... or such a
word, a colon and the reason. What a failed test has not come to show is FAILED.
"""

import glob
import json
import os
import sys

from freezecompat import _result_file
from freezecompat._columns import columns
from freezecompat._replace import replacing

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "docs")
RESULTS = os.path.join(DOCS, "guarantees")
PAGE = os.path.join(DOCS, "guarantees.md")

CORRECTION = "needs the correction"

HEAD = """\
# Guarantees

*A frozen element is a constant of the training.* Three laws follow:

1. **Exact.** After each step a frozen element holds the bytes that it held before.
2. **Equivalent.** The free elements train, bit for bit, as in the *oracle*: the same program in which each weight is written
   `where(frozen, held, v)`.
3. **Invisible.** Nothing else changes. (That is tested elsewhere: there is nothing to list.)

This page lists what was shown of the first two, for every optimizer class and option that a runtime has: the classes are found in
its modules, and an option is there if the constructor takes it. A row was trained beside its oracle, dense weights and one that
is looked up, and compared after each step:

| cell | meaning |
|---|---|
| equal | every frozen element held its bytes, every free one was the oracle's bit for bit |
| exact only | every frozen element held its bytes; the free ones depend on them, since the optimizer mixes the elements of a weight |
| refused | TensorFlow refuses it, without a freeze too |
| FAILED | not so |

Nothing here is written by hand: `tox run -e py37-tf115-sweep,py311-tf215-sweep,py313-tf221-sweep` trains all of it, writes
`docs/guarantees/*.json`, and makes this page of them (`tests/tf/guarantees.py`).
"""

CORRECTIONS = """\
## What needs the correction

Most optimizers leave an element alone that has fresh slots and a gradient of 0. The following move it, and its value is put back after their
step: between the two, another thread may read a moved value. Keras' optimizers since 2.11 assign to their weights by the variables' own
methods, where a frozen element keeps its value whatever they assign: of theirs, only weights whose gradient is that of looked-up rows are put
back (`looked up`). The others of the tables below stood still, frozen from step 0 and frozen warm, without a correction.
"""

NAMES = """\
The first word of a row is the API. `Function`: a loop in a tf.function. `Graph` and `ReferenceGraph`: a graph with a Session, resource
and reference variables; in an `OrderedGraph` the step waits for all gradients, in a `DenseGraph` no weight is looked up. `Tape`: a
loop in eager mode. A row of a Keras is a loop in a tf.function in eager mode, and `train_on_batch` in graph mode.
"""


class Sweep:
    """A plugin of pytest: gathers what the tests show, prints it, and writes it to a folder."""

    def __init__(self, runtime, folder):
        self._runtime = runtime
        self._folder = folder
        self._tables = {}

    def pytest_runtest_logreport(self, report):
        shown = dict(report.user_properties)
        if "table" not in shown or report.when == "teardown" or not (report.when == "call" or report.failed):
            return
        row = {"row": shown.pop("row"), "cells": shown}
        if report.failed:
            row["failed"] = _fault(report)
        self._tables.setdefault(shown.pop("table"), []).append(row)

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        tables = {title: sorted(rows, key=lambda row: row["row"]) for title, rows in sorted(self._tables.items())}
        result = dict(self._runtime, tables=tables)
        for title, rows in tables.items():
            terminalreporter.write_sep("=", "{}: {}".format(caption(result), title))
            terminalreporter.write_line(columns(lines(rows)))
        if exitstatus in (0, 1):  # passed, or failed; not broken off
            _result_file.write(os.path.join(self._folder, file_name(result)), result)


def _fault(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else str(report.longrepr)).splitlines()[0]


def file_name(result):
    return "tf{}-{}.json".format(".".join(result["tensorflow"].split(".")[:2]), result["mode"])


def caption(result):
    return "TensorFlow {tensorflow}, {keras}, Python {python}, {mode} mode".format(**result)


def read(folder=RESULTS):
    """The results in a folder, by version and mode."""
    found = []
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file))
    return sorted(found, key=lambda result: ([int(n) for n in result["tensorflow"].split(".")[:2]], result["mode"]))


def lines(rows):
    """The rows of one table as lines of cells, the heads first."""
    heads = list(dict.fromkeys(column for row in rows for column in row["cells"]))
    return [[""] + heads] + [[row["row"]] + [word(row, column) for column in heads] for row in rows]


def word(row, column):
    """What stands in a cell of a table."""
    missing = "FAILED" if "failed" in row else ""
    return row["cells"].get(column, missing).split(":")[0]


def page(results):
    """The text of docs/guarantees.md."""
    parts = [HEAD, "## What is not equal everywhere\n", "\n".join(_exceptions(results)) + "\n", CORRECTIONS]
    parts += ["\n".join(_corrections(results)) + "\n", "## The tables\n", NAMES]
    for result in results:
        parts.append("### {}\n".format(caption(result)))
        for title, rows in result["tables"].items():
            parts.append("{}\n".format(title))
            heads, *cells = lines(rows)
            parts.append("\n".join(map(_markdown, [heads, ["---"] * len(heads)] + cells)) + "\n")
    return "\n".join(parts)


def _markdown(cells):
    return "| {} |".format(" | ".join(cells))


def _rows(results):
    for result in results:
        for rows in result["tables"].values():
            for row in rows:
                yield result, row


def _exceptions(results):
    """A line for each reason why a cell is not "equal": what of which rows of which runtimes."""
    found = {}
    for result, row in _rows(results):
        cells = {column: cell for column, cell in row["cells"].items() if ": " in cell}
        if "failed" in row:
            cells["test"] = "FAILED: " + row["failed"]
        for column, reason in cells.items():
            places = found.setdefault(reason, {}).setdefault(_short(result), {})
            places.setdefault(column, []).append(row["row"])
    lines = []
    for reason, runtimes in sorted(found.items()):
        lines.append("* {}".format(reason))
        for runtime, places in runtimes.items():
            for rows in dict.fromkeys(map(tuple, places.values())):
                of = [column for column in places if tuple(places[column]) == rows]
                lines.append("  * {}, {}: {}".format(runtime, ", ".join(of), _listed(rows)))
    return lines or ["Nothing."]


def _corrections(results):
    for result in results:
        found = {}
        for _, row in _rows([result]):
            found.setdefault(row["cells"].get(CORRECTION, "no"), []).append(row["row"])
        yield "* {}: {}".format(caption(result), _listed(found.pop("yes", [])))
        found.pop("no", None)
        for when, rows in sorted(found.items()):
            yield "  Only {}: {}".format(when, _listed(rows))


def _short(result):
    return "{} {}".format(result["tensorflow"], result["mode"])


def _listed(names):
    return ", ".join("`{}`".format(name) for name in names) or "none"


def main():
    with replacing(PAGE) as file:
        file.write(page(read()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
