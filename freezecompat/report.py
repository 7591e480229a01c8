"""The state of a freeze as plain rows."""

import json
from html import escape
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ._columns import columns


class ReportRow(NamedTuple):
    """One weight.

    Attributes:
        address: canonical address.
        shape: its shape.
        dtype: its dtype's name.
        elements: how many elements it has.
        frozen: how many of them are frozen.
        moved: how many of those differ from the reference; None where there is no reference yet.
    """

    address: str
    shape: Tuple[int, ...]
    dtype: str
    elements: int
    frozen: int
    moved: Optional[int]


class Report:
    """What is frozen, what holds it, and what has moved.

    Example:
        >>> row = ReportRow("hidden/kernel", (4, 3), "float32", 12, 2, 0)
        >>> print(Report([row], ["Adam"], []))
        weight         shape   dtype    elements  frozen  moved
        hidden/kernel  (4, 3)  float32        12       2      0
        attached to Adam; 2 of 12 elements frozen
    """

    def __init__(self, weights: List[ReportRow], attached_to: List[str], notes: List[str]) -> None:
        self.weights = tuple(weights)
        self.attached_to = tuple(attached_to)
        self.notes = tuple(notes)

    @property
    def attached(self) -> bool:
        """True where something holds the frozen elements: an optimizer, or the hand-written update."""
        return bool(self.attached_to)

    def to_dict(self) -> Dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "weights": [dict(row._asdict(), shape=list(row.shape)) for row in self.weights],
            "attached": self.attached,
            "attached_to": list(self.attached_to),
            "frozen": sum(row.frozen for row in self.weights),
            "elements": sum(row.elements for row in self.weights),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2)

    def to_html(self) -> str:
        """The same as a table of HTML, which a notebook shows.

        Returns:
            Text of a `<table>` and a `<p>` for each other line of `str(report)`, with no style of its own; names are escaped.

        Example:
            >>> row = ReportRow("<w>", (1,), "float32", 1, 1, None)
            >>> print(Report([row], [], []).to_html())
            <table>
            <tr><th>weight</th><th>shape</th><th>dtype</th><th>elements</th><th>frozen</th><th>moved</th></tr>
            <tr><td>&lt;w&gt;</td><td>(1,)</td><td>float32</td><td>1</td><td>1</td><td>?</td></tr>
            </table>
            <p>NOT ATTACHED; 1 of 1 elements frozen</p>
        """
        heads, *rows = self._cells()
        lines = [_table_row("th", heads)] + [_table_row("td", row) for row in rows]
        return "\n".join(
            ["<table>"] + lines + ["</table>"] + ["<p>{}</p>".format(escape(line)) for line in self._lines()]
        )

    _repr_html_ = to_html

    def __str__(self) -> str:
        return "\n".join([columns(self._cells(), left=3)] + self._lines())

    def _cells(self) -> List[List[str]]:
        cells = [["weight", "shape", "dtype", "elements", "frozen", "moved"]]
        for row in self.weights:
            moved = "?" if row.moved is None else str(row.moved)
            cells.append([row.address, str(row.shape), row.dtype, str(row.elements), str(row.frozen), moved])
        return cells

    def _lines(self) -> List[str]:
        state = "attached to " + ", ".join(self.attached_to) if self.attached else "NOT ATTACHED"
        totals = self.to_dict()
        return ["{}; {} of {} elements frozen".format(state, totals["frozen"], totals["elements"])] + list(self.notes)

    def __repr__(self) -> str:
        return "<Report: {} weights, {}>".format(len(self.weights), "attached" if self.attached else "NOT ATTACHED")


def _table_row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>{}</tr>".format("".join("<{0}>{1}</{0}>".format(tag, escape(cell)) for cell in cells))
