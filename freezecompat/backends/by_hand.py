"""Updates that no optimizer makes: hand-written ones, around which the held values are kept."""

from typing import Any, Iterable

from .. import _compat
from ..exceptions import ArgumentError, GraphAlreadyBuilt
from .held import GraphWeight
from .writes import writes


def hold_after(train_op: Any, weights: Iterable[GraphWeight]) -> Any:
    """Order the update ops that `train_op` depends on after a snapshot of the weights, and put held values back after it.

    Raises:
        ArgumentError: `train_op` writes none of the weights.
        GraphAlreadyBuilt: a session has run this graph already; it would ignore the new order in silence.
    """
    tf = _compat.tensorflow()
    operation = getattr(train_op, "op", train_op)
    graph = operation.graph
    found = writes(_compat.ancestors(operation))
    snapshots = []
    with graph.as_default():
        for held in weights:
            own = found.get(held.source.name)
            if not own:
                continue
            snapshot = held.snapshot()
            first = held.keep_first(snapshot)
            for entry in {write.entry for write in own}:
                entry._add_control_inputs([snapshot.op, getattr(first, "op", first)])
            snapshots.append((held, snapshot, [write.op for write in own]))
        if not snapshots:
            raise ArgumentError(
                "hold_after: {} writes none of the target's weights; pass the op that runs the update".format(
                    operation.name
                )
            )
        _check_not_run(graph, snapshots[0][0])
        for held, _, reached in snapshots:
            held.ignore_updates(reached)
        with _compat.control_dependencies([operation]):
            return tf.group(*[held.put_back(snapshot) for held, snapshot, _ in snapshots])


def _check_not_run(graph: Any, held: GraphWeight) -> None:
    # TensorFlow keeps no record of a run that Python could read. So it is tried: an edge is added to an op that no step
    # runs, and a session that has run before ignores that edge too. (This is a run: a next hold_after finds it.)
    v1 = _compat.v1()
    probe = v1.Variable(False, trainable=False, collections=[], use_resource=True, name="freezecompat/run_before")
    seen, no_step = probe.is_initialized(), _initial_op(held)
    no_step._add_control_inputs([probe.initializer])
    for session in _compat.live_sessions(graph):
        session.run(no_step)
        if not session.run(seen):
            raise GraphAlreadyBuilt(
                "hold_after must be called before the graph's first Session.run: a session that has run keeps the old "
                "order of the update ops, in silence. Call it right after building train_op, and make the session then."
            )


def _initial_op(held: GraphWeight) -> Any:
    """A constant that only the initializer of a weight needs, or else the op of the weight itself."""
    constants = [op for op in _compat.ancestors(held.variable.initializer) if op.type == "Const"]
    return constants[0] if constants else held.source
