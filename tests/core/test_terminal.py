"""Tables and verdicts: with rich on a terminal, elsewhere the same words as plain text."""

import io
import re
import sys

import numpy as np
import pytest

from freezecompat import cli
from freezecompat._terminal import print_table, print_verdict

LINES = [["weight", "moved"], ["[bold]kernel", "1"], ["x" * 200, "0"]]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(stream):
    print_table(LINES, stream, {"1": "red"})
    print_verdict("1 [moved]", False, stream)
    return stream.getvalue()


def words(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text).split()


def test_the_same_words(monkeypatch):
    """No cell is cut off or read as markup; escape codes stand on a terminal alone."""
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = printed(Terminal()), printed(io.StringIO())
    assert "\x1b[" in terminal and "\x1b" not in file
    assert words(terminal) == words(file) == ["weight", "moved", "[bold]kernel", "1", "x" * 200, "0", "1", "[moved]"]


def test_without_rich(monkeypatch):
    """A terminal gets the text that a file gets."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert printed(Terminal()) == printed(io.StringIO())


@pytest.mark.parametrize("command", [["list", "a.npz"], ["masks", "a.npz", "--spec", "spec.json"]])
def test_the_commands_on_files_use_them(command, tmp_path, monkeypatch, capsys):
    """list and masks print tables, verify a table and its verdict in a colour."""
    pytest.importorskip("rich")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    np.savez("a.npz", kernel=np.zeros((4, 3)))
    np.savez("b.npz", kernel=np.ones((4, 3)))
    (tmp_path / "spec.json").write_text('{"freezecompat": 1, "freeze": [{"weight": "kernel", "elements": [[1, 2]]}]}')
    verify = ["verify", "a.npz", "b.npz", "--spec", "spec.json"]
    assert (cli.main(command), cli.main(verify)) == (0, 1)
    text = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert (cli.main(command), cli.main(verify)) == (0, 1)
    shown = sys.stdout.getvalue()
    assert words(shown) == words(text)
    assert "\x1b[1mweight" in shown and "\x1b[1;31m1 of 1 frozen elements moved" in shown
