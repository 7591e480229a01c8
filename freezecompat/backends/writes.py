"""Which ops of a TF1 graph write which variable: in the graph itself, in its branches and loops, in functions it calls."""

import re
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Tuple

from .. import _compat

# Types of ops that change a variable, plain assignments (initializers, restores) included.
_WRITES = re.compile("Apply|Scatter|Assign")
# What hands a variable on to the ops of a branch or a loop.
_PASSES_ON = frozenset(
    prefix + name for prefix in ("", "Ref") for name in ("Enter", "Identity", "NextIteration", "Switch")
)


class Write(NamedTuple):
    """One op that writes a variable.

    Attributes:
        op: what writes.
        entry: the op of the variable's own graph by which the variable gets there: `op` itself, a Switch or Enter of the
            branch or loop that `op` is in, or the call of its function.
    """

    op: Any
    entry: Any

    @property
    def is_update(self) -> bool:
        """True for an optimizer's update, as far as can be told."""
        return "Apply" in self.op.type or "/update_" in "/" + self.op.name


def writes(operations: Iterable[Any]) -> Dict[str, List[Write]]:
    """The writes among some ops of one graph, under the name of the op that stands for the variable there."""
    found: Dict[str, List[Write]] = {}
    for operation in operations:
        for tensor, op in _written_by(operation):
            entry = operation
            while tensor.op.type in _PASSES_ON:
                entry = tensor.op
                tensor = entry.inputs[0]
            found.setdefault(tensor.op.name, []).append(Write(op, entry))
    return found


def _written_by(operation: Any) -> Iterator[Tuple[Any, Any]]:
    """(input that stands for a variable, what writes it) of an op: itself, or ops of the functions that it calls."""
    if _WRITES.search(operation.type):
        if operation.inputs:
            yield operation.inputs[0], operation
        return
    for graph in _compat.called_graphs(operation):
        inside = writes(graph.get_operations())
        # From the end: a condition or the index of a branch comes before what the functions are given.
        for tensor, placeholder in zip(reversed(list(operation.inputs)), reversed(graph.inputs)):
            for write in inside.get(placeholder.op.name, ()):
                yield tensor, write.op
