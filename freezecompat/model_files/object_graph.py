"""Which variables of an object-based checkpoint are weights, and what they are called.

The messages are those of tensorflow/core/protobuf/trackable_object_graph.proto.
"""

import re
from collections import Counter
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

from .wire import fields, integer, text

_CELL = re.compile(r"/(?:lstm_cell|gru_cell|simple_rnn_cell)(?:_\d+)?(/(?:kernel|recurrent_kernel|bias))$")
_VALUE = "VARIABLE_VALUE"
_RANDOM_STATE = "seed_generator_state"

#: Attributes that only an optimizer has, of each generation: Keras 3 and Keras from 2.11 on; Keras before.
_OF_OPTIMIZERS = ({"_iterations", "_learning_rate"}, {"iter", "decay"})


class _Variable(NamedTuple):
    path: str
    name: str
    key: str


class _Node(NamedTuple):
    children: Dict[str, int]
    variables: List[Tuple[str, str]]  # name and key
    slots: List[int]


def weights(graph: bytes) -> Dict[str, str]:
    """Name the weights.

    Args:
        graph: a serialized TrackableObjectGraph.

    Returns:
        `{address: key in the checkpoint}`. The address is the name that the variable had, without the automatic name of
        a recurrent cell; where several have that name, with it; and where that is not enough, or a variable has no
        name, the path of attributes from the root to it.
        Variables of optimizers, metrics, random generators and of the checkpoint itself are left out.
    """
    nodes = [_node(message) for message in fields(graph).get(1, [])]
    found = _without_copies(list(_variables(nodes)))
    named = [(_CELL.sub(r"\1", one.name), one.name, one.path) for one in found]
    taken = Counter(name for names in named for name in set(names))
    return {
        next(filter(lambda name: name and taken[name] == 1, names), names[-1]): one.key
        for names, one in zip(named, found)
    }


def _node(message: bytes) -> _Node:
    parts = fields(message)
    children = [fields(child) for child in parts.get(1, [])]
    attributes = [fields(attribute) for attribute in parts.get(2, [])]
    return _Node(
        children={text(child, 2): integer(child, 1) for child in children},
        variables=[(text(one, 2), text(one, 3)) for one in attributes if text(one, 1) == _VALUE],
        slots=[integer(fields(slot), 3) for slot in parts.get(3, [])],
    )


def _variables(nodes: List[_Node]) -> Iterator[_Variable]:
    """Each, with the shortest path to it."""
    seen: Set[int] = {slot for node in nodes for slot in node.slots} | {0}
    waiting: List[Tuple[int, Tuple[str, ...]]] = [(0, ())]
    for place, path in waiting:
        for name, key in nodes[place].variables:
            if name.rpartition("/")[2] != _RANDOM_STATE:
                yield _Variable("/".join(path), name, key)
        for name, child in _children(nodes[place], path).items():
            if child not in seen:
                seen.add(child)
                waiting.append((child, path + (name,)))


def _children(node: _Node, path: Tuple[str, ...]) -> Dict[str, int]:
    if node.slots or any(names <= set(node.children) for names in _OF_OPTIMIZERS):
        # Keras 3 tracks the layers in a user's list here alone.
        return {name: child for name, child in node.children.items() if name == "_trainable_variables"}
    left_out = {"metrics"} if path[-1:] == ("keras_api",) else {"save_counter"} if not path else set()
    return {name: child for name, child in node.children.items() if name not in left_out}


def _without_copies(found: List[_Variable]) -> List[_Variable]:
    """What model.export of Keras 3 writes has each weight twice."""
    copies = [one for one in found if one.path.startswith("_all_variables/")]
    others = [one for one in found if one.path.startswith("variables/")]
    return [one for one in found if one not in copies] if _names(copies) <= _names(others) else found


def _names(variables: List[_Variable]) -> Set[Tuple[str, int]]:
    """Names, the second of a name told apart from the first."""
    taken: Counter = Counter()
    found = set()
    for one in variables:
        taken[one.name] += 1
        found.add((one.name, taken[one.name]))
    return found
