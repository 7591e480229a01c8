"""What is told while runs go on: live on a terminal with rich, lines elsewhere."""

import io
import sys

import pytest

from freezecompat.parity.progress import Event, display


class Terminal(io.StringIO):
    def isatty(self):
        return True


def event(number, status, seconds=None, tensorflow="2.15.1"):
    return Event(number, 12, "3.11.7", tensorflow, "tf1-eager", status, seconds)


def shown(events, stream=None, **options):
    stream = stream if stream is not None else io.StringIO()
    with display(stream, **options) as progress:
        for one in events:
            progress(one)
    return stream.getvalue()


def test_lines():
    """A line when a run trains, and one when it has ended."""
    assert shown([event(3, "started"), event(3, "training"), event(3, "ran", 4.16)]).splitlines() == [
        "[ 3/12] Python 3.11.7, TensorFlow 2.15.1, tf1-eager: training",
        "[ 3/12] Python 3.11.7, TensorFlow 2.15.1, tf1-eager: ran (4.2 s)",
    ]


def test_nothing_is_shown_of_what_may_be_a_usage_error():
    """As long as none trains, all may be found broken; then the error is the only line."""
    assert (
        shown([event(1, "started"), event(2, "started"), event(1, "broken", 1.0), event(2, "unavailable", 1.0)]) == ""
    )


def test_what_was_held_back_is_shown_first():
    """Once one trains, what ended before it is shown too."""
    text = shown([event(1, "broken", 1.0), event(2, "training"), event(3, "broken", 2.0)])
    assert [line.split()[1].rstrip("]") for line in text.splitlines()] == ["1/12", "2/12", "3/12"]


def test_quiet():
    """There is nobody to tell."""
    stream = Terminal()
    with display(stream, quiet=True) as progress:
        assert progress is None
    assert stream.getvalue() == ""


def test_live():
    """On a terminal lines move; what has ended stays."""
    pytest.importorskip("rich")
    text = shown([event(1, "started", tensorflow=None), event(1, "training"), event(1, "ran", 2.0)], Terminal())
    assert "[ 1/12] Python 3.11.7, TensorFlow 2.15.1, tf1-eager: ran (2.0 s)\n" in text
    assert "\x1b[" in text


def test_terminal_without_rich(monkeypatch):
    """Lines, as elsewhere."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert (
        shown([event(1, "failed", 2.0)], Terminal())
        == "[ 1/12] Python 3.11.7, TensorFlow 2.15.1, tf1-eager: failed (2.0 s)\n"
    )
