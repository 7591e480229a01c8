"""Updates that no optimizer makes: hand-written ones, around which the held values are kept."""

from typing import Any, Iterable, List

from .. import _compat
from ..exceptions import ArgumentError, GraphAlreadyBuilt
from .held import GraphWeight, is_write


def hold_after(train_op: Any, weights: Iterable[GraphWeight]) -> Any:
    """Order the update ops that `train_op` depends on after a snapshot of the weights, and put held values back after it.

    Raises:
        ArgumentError: `train_op` writes none of the weights.
        GraphAlreadyBuilt: a session has run this graph already; it would ignore the new order in silence.
    """
    tf = _compat.tensorflow()
    operation = getattr(train_op, "op", train_op)
    graph = operation.graph
    writing = [op for op in _compat.ancestors(operation) if op.inputs and is_write(op)]
    snapshots = []
    with graph.as_default():
        for held in weights:
            ops = [op for op in writing if op.inputs[0].op.name == held.source.name]
            if not ops:
                continue
            snapshot = held.snapshot()
            first = held.keep_first(snapshot)
            for op in ops:
                op._add_control_inputs([snapshot.op, getattr(first, "op", first)])
            held.ignore_updates({op.name for op in ops})
            snapshots.append((held, snapshot))
        if not snapshots:
            raise ArgumentError(
                "hold_after: {} writes none of the target's weights; pass the op that runs the update".format(operation.name)
            )
        _check_not_run(graph, [held for held, _ in snapshots])
        with _compat.control_dependencies([operation]):
            return tf.group(*[held.put_back(snapshot) for held, snapshot in snapshots])


def _check_not_run(graph: Any, weights: List[GraphWeight]) -> None:
    # TensorFlow keeps no record of a run that Python could read. A session in which a weight has a value has run its
    # initializer at least; asked only now, since the question itself is a run.
    v1 = _compat.v1()
    initialised = [v1.is_variable_initialized(held.variable) for held in weights]
    for session in _compat.live_sessions(graph):
        if any(session.run(initialised)):
            raise GraphAlreadyBuilt(
                "hold_after must be called before the graph's first Session.run: a session that has run keeps the old "
                "order of the update ops, in silence. Call it right after building train_op."
            )
