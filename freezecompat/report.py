"""The state of a freeze as plain rows."""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

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

    def __str__(self) -> str:
        cells = [["weight", "shape", "dtype", "elements", "frozen", "moved"]]
        for row in self.weights:
            moved = "?" if row.moved is None else str(row.moved)
            cells.append([row.address, str(row.shape), row.dtype, str(row.elements), str(row.frozen), moved])
        state = "attached to " + ", ".join(self.attached_to) if self.attached else "NOT ATTACHED"
        totals = self.to_dict()
        summary = "{}; {} of {} elements frozen".format(state, totals["frozen"], totals["elements"])
        return "\n".join([columns(cells, left=3), summary] + list(self.notes))

    def __repr__(self) -> str:
        return "<Report: {} weights, {}>".format(len(self.weights), "attached" if self.attached else "NOT ATTACHED")
