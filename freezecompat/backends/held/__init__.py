"""The state of one weight, in eager mode and in a TF1 graph."""

from typing import Any

from ... import _compat
from ..weak_table import WeakTable
from .base import HeldWeight
from .eager import EagerWeight
from .graph import GraphWeight, LargeGraphWeight

__all__ = ["EagerWeight", "GraphWeight", "HeldWeight", "held_weight"]

_eager_weights = WeakTable()
# Elements from which on a step in a graph is dearer to copy than the ops that choose what to copy are to run.
_LARGE = 2**16


def held_weight(variable: Any) -> HeldWeight:
    """The state of a variable (a TensorFlow variable, not a Keras 3 one)."""
    graph = _compat.graph_of(variable)
    if graph is None:
        return _eager_weights.get(variable, EagerWeight)
    # Kept by the graph itself: it holds the graph's ops, and from a table of ours it would keep the graph alive.
    table = getattr(graph, "_freezecompat_weights", None)
    if table is None:
        table = graph._freezecompat_weights = WeakTable()
    return table.get(variable, LargeGraphWeight if variable.shape.num_elements() >= _LARGE else GraphWeight)
