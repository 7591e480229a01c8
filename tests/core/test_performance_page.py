"""docs/performance.md is what the kept figures say, and has a reason for each that misses its target."""

import json
import os

import pytest

BENCHMARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "benchmarks")


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import page

    return page


def row(variant, figure, target=1.05, **more):
    found = {"part": "step", "program": "Keras 3, fit", "case": "dense", "variant": variant, "figure": figure}
    return dict(found, unit="x plain", spread=[1.0, 1.1], target=target, cpu=1.01, **more)


RESULT = {
    "tensorflow": "2.21.0",
    "python": "3.13.0",
    "numpy": "2.5.5",
    "processors": 2,
    "rows": [
        row("plain", 1.0, target=None),
        row("by hand, constraint", 1.2, target=None),
        row("freezecompat, half", 1.04),
        row("freezecompat, 2 elements", 1.0712),
    ],
}
REASONS = [(("2.21*", "step", "Keras 3*", "dense", "freezecompat, 2*"), "the reason")]


def test_a_row_for_each_program_and_a_column_for_each_variant(page):
    """A figure with its spread, in bold where it misses its target; what has none can't miss it."""
    text = page.page([RESULT], REASONS)
    assert "### TensorFlow 2.21.0, Python 3.13.0, numpy 2.5.5, 2 processors\n" in text
    assert "|  |  | by hand, constraint | freezecompat, half | freezecompat, 2 elements |\n" in text
    assert (
        "| Keras 3, fit | dense | 1.2 (1 to 1.1), cpu 1.01 | 1.04 (1 to 1.1), cpu 1.01 | **1.0712** (1 to 1.1), cpu 1.01 |"
        in text
    )


def test_what_missed_its_target_stands_with_its_reason(page):
    """And what fits no reason makes no page."""
    line = "  * TensorFlow 2.21.0, step: Keras 3, fit, dense (target 1.05): freezecompat, 2 elements 1.0712\n"
    assert "* the reason\n" + line in page.page([RESULT], REASONS)
    with pytest.raises(LookupError) as caught:
        page.page([RESULT], [])
    assert str(caught.value) == (
        "2.21.0, step, Keras 3, fit, dense, freezecompat, 2 elements misses its target, 1.05, with 1.0712, and REASONS in "
        "benchmarks/page.py does not say why"
    )


def test_a_page_that_can_not_be_made_leaves_the_old_one(page, tmp_path):
    """The reasons are looked up before anything is written."""
    (tmp_path / "tf2.21.json").write_text(json.dumps(RESULT))
    (tmp_path / "page.md").write_text("old")
    with pytest.raises(LookupError):
        page.write(str(tmp_path), str(tmp_path / "page.md"))
    assert (tmp_path / "page.md").read_text() == "old"


def test_the_page_is_what_the_figures_say(page):
    """`python benchmarks/page.py` writes it."""
    with open(os.path.join(page.DOCS, "performance.md"), encoding="utf-8") as file:
        assert file.read() == page.page(page.read())


def test_the_parts_of_the_page_are_those_of_the_benchmarks(page):
    """A figure of a part that the page does not know would not be shown."""
    known = set(page.PARTS)
    for result in page.read() + [RESULT]:
        assert {row["part"] for row in result["rows"]} <= known


def test_a_part_that_is_measured_anew_stands_in_place_of_its_old_figures(page, tmp_path):
    """What else the folder has of the same TensorFlow stays."""
    import importlib

    every = importlib.import_module("all")
    facts = {"python": "3.13.0", "numpy": "2.4.0", "processors": 2}
    step, other, newer = row("old", 1.5), dict(row("kept", 1.0), part="growth: size"), row("new", 1.1)
    for rows in ([step], [other], [newer]):
        path = every.written(dict(facts, rows=rows), str(tmp_path / "made"), "2.21.0")
    with open(path) as file:
        found = json.load(file)
    assert found == dict(facts, tensorflow="2.21.0", rows=[other, newer])
    assert os.listdir(os.path.dirname(path)) == ["tf2.21.json"]
