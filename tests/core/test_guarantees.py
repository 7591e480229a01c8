"""What the sweep shows: a failed cell shows as failed, and docs/guarantees.md is what the kept results say."""

import json
import re
from typing import Any, NamedTuple

import guarantees
from freezecompat import cli

RUNTIME = {"tensorflow": "2.15.1", "keras": "tf.keras 2.15.0", "python": "3.11", "mode": "eager"}
MIXES = "exact only: the update is made of all"


class Crash(NamedTuple):
    message: str


class Failure(NamedTuple):
    reprcrash: Crash


class Report(NamedTuple):
    """What pytest reports of a test, as far as it is read."""

    user_properties: Any
    when: str = "call"
    failed: bool = False
    longrepr: Any = None


class Terminal:
    def __init__(self):
        self.text = []

    def write_sep(self, line, title):
        self.text.append(title)

    def write_line(self, line):
        self.text.append(line)


def shown(row, *cells):
    return [["table", "The laws."], ["row", row]] + [list(cell) for cell in cells]


REPORTS = [
    Report([], "call"),
    Report(shown("tf.train Adam", ("step 0", "equal"), ("step 3", "equal"), ("needs the correction", "no"))),
    Report(shown("tf.train Adam", ("step 0", "equal"), ("step 3", "equal")), "teardown"),
    Report(shown("keras Lamb", ("step 0", MIXES), ("step 3", MIXES), ("needs the correction", "yes"))),
    Report(shown("keras Nadam", ("step 0", "equal")), "call", True, Failure(Crash("kernel moved at step 3\nat 1"))),
    Report(shown("keras SGD"), "setup", True, Failure(Crash("no keras"))),
]


def sweep(folder, exitstatus=1):
    """(text printed, results kept) of a sweep with REPORTS."""
    plugin, terminal = guarantees.Sweep(RUNTIME, str(folder)), Terminal()
    for report in REPORTS:
        plugin.pytest_runtest_logreport(report)
    plugin.pytest_terminal_summary(terminal, exitstatus)
    return "\n".join(terminal.text), guarantees.read(str(folder))


def test_the_table(tmp_path):
    """A row for each case, with what its test has come to show."""
    text, _ = sweep(tmp_path)
    assert text.splitlines() == [
        "TensorFlow 2.15.1, tf.keras 2.15.0, Python 3.11, eager mode: The laws.",
        "               step 0      step 3      needs the correction",
        "keras Lamb     exact only  exact only  yes",
        "keras Nadam    equal       FAILED      FAILED",
        "keras SGD      FAILED      FAILED      FAILED",
        "tf.train Adam  equal       equal       no",
    ]


def test_the_page(tmp_path):
    """It tells reasons and failures, what is put back, and has the same table."""
    _, results = sweep(tmp_path)
    text = guarantees.page(results)
    for line in (
        "* exact only: the update is made of all\n  * 2.15.1 eager, step 0, step 3: `keras Lamb`\n",
        "* FAILED: kernel moved at step 3\n  * 2.15.1 eager, test: `keras Nadam`\n",
        "* TensorFlow 2.15.1, tf.keras 2.15.0, Python 3.11, eager mode: `keras Lamb`\n",
        "| keras Nadam | equal | FAILED | FAILED |\n",
    ):
        assert line in text


def test_a_sweep_that_is_broken_off_keeps_nothing(tmp_path):
    """The results of an earlier one stay."""
    sweep(tmp_path)
    kept = (tmp_path / "tf2.15-eager.json").read_text()
    assert json.loads(kept)["python"] == "3.11"
    (tmp_path / "tf2.15-eager.json").write_text(kept.replace("3.11", "3.12"))
    sweep(tmp_path, exitstatus=2)
    assert json.loads((tmp_path / "tf2.15-eager.json").read_text())["python"] == "3.12"


def test_the_page_is_what_the_results_say():
    """`python tests/tf/guarantees.py` writes it."""
    with open(guarantees.PAGE, encoding="utf-8") as file:
        assert file.read() == guarantees.page(guarantees.read())


def test_each_tested_runtime_was_swept_in_both_modes_and_nothing_failed():
    """What is kept is of the versions that the doctor calls tested."""
    results = guarantees.read()
    swept = sorted((result["python"], result["tensorflow"], result["mode"]) for result in results)
    assert swept == sorted((python, tf, mode) for python, tf in cli.TESTED for mode in ("eager", "graph"))
    assert "site-packages" not in json.dumps(results)  # a file's path in TensorFlow's words
    assert "FAILED" not in json.dumps(results) and '"failed"' not in json.dumps(results)


def test_what_needs_the_correction_was_measured():
    """Ftrl builds a weight anew from its slots; gradient descent leaves an element alone that has a gradient of 0.

    What Keras' own Ftrl assigns, since 2.11, leaves frozen elements alone.
    """
    for result in guarantees.read():
        rows = [row for rows in result["tables"].values() for row in rows if guarantees.CORRECTION in row["cells"]]
        found = {row["row"]: row["cells"][guarantees.CORRECTION] for row in rows}
        ftrl = {name for name in found if name.endswith("Ftrl")}
        kernel = {name for name in ftrl if re.search("tf.train|legacy", name) or result["tensorflow"].startswith("1.")}
        assert {found[name] for name in kernel} == {"yes"}
        assert {found[name] for name in ftrl - kernel} <= {"no"}
        assert {found[name] for name in found if name.endswith("GradientDescent")} == {"no"}
