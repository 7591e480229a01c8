"""Canonical addresses of Keras weights, from the tree of layer objects: the same under every version of Keras.

An address is the names of the layers from the target (its own name left out) down to the weight's layer, then the
weight's role: the attribute that holds it in its layer. Automatic names of cells inside recurrent layers are left out, and
so are the wrappers in which TensorFlow Model Optimization prunes layers; a name that stands beside its like gets `~2`, `~3`.
"""

import re
from collections import Counter
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from .. import _compat
from .keras_meaning import Meaning, head_axis, meaning


class Place(NamedTuple):
    """Where a variable hangs in the tree."""

    address: str
    layer: str
    role: str
    meaning: Meaning
    outer_units: Optional[Tuple[str, Any]]  # (address of the attention layer around, axis of its heads)
    owner: Any  # the layer that holds it
    variable: Any
    is_state: bool  # made as not trainable: its layer writes it itself


def places(target: Any) -> Iterator[Place]:
    """Every place of every weight in tree order; a shared variable has several."""
    return _walk(target, "", Counter(), ())


def layers_within(target: Any) -> List[Any]:
    """The layers inside of a layer or model, itself included, each once."""
    found, todo, seen = [], [target], set()
    while todo:
        layer = todo.pop()
        if id(layer) not in seen:
            seen.add(id(layer))
            found.append(layer)
            todo += _compat.sublayers(layer)
    return found


def pruning_wrappers(target: Any) -> List[Any]:
    """Those of them in which TensorFlow Model Optimization prunes another."""
    return [layer for layer in layers_within(target) if _pruned(layer) is not None]


def _walk(layer: Any, path: str, taken: Counter, above: Tuple[Any, ...]) -> Iterator[Place]:
    pruned = _pruned(layer)
    for variable, is_state in _compat.own_variables(layer):
        if pruned is not None and any(variable is weight for weight in pruned.weights):
            continue  # the wrapper lists what it prunes
        role = _role(layer, variable)
        heads = head_axis(above[-1], layer, role) if above else None
        yield Place(
            address=_join(path, _numbered(taken, role)),
            layer=path,
            role=role,
            meaning=meaning(layer, role, len(variable.shape)),
            outer_units=None if heads is None else (path.rpartition("/")[0], heads),
            owner=layer,
            variable=variable,
            is_state=is_state,
        )
    for child in _compat.sublayers(layer):
        if any(child is one for one in above):
            continue  # a layer that holds itself
        if _is_unnamed_cell(layer, child) or child is pruned:
            yield from _walk(child, path, taken, above + (layer,))
        else:
            inner = _pruned(child)
            name = _numbered(taken, (child if inner is None else inner).name)
            yield from _walk(child, _join(path, name), Counter(), above + (layer,))


def _join(path: str, name: str) -> str:
    return path + "/" + name if path else name


def _numbered(taken: Counter, name: str) -> str:
    taken[name] += 1
    return name if taken[name] == 1 else "{}~{}".format(name, taken[name])


def is_a(layer: Any, name: str) -> bool:
    """True for a layer of a class of that name, whichever Keras it is from."""
    return name in _class_names(layer)


def _class_names(layer: Any) -> List[str]:
    return [base.__name__ for base in type(layer).__mro__]


def _pruned(layer: Any) -> Any:
    """The layer inside of a `prune_low_magnitude` wrapper, None for any other layer."""
    return getattr(layer, "layer", None) if hasattr(layer, "pruning_vars") else None


def _is_unnamed_cell(layer: Any, child: Any) -> bool:
    if not {"RNN", "StackedRNNCells"} & set(_class_names(layer)):
        return False
    # An automatic name is the class' name in snake case, and a number: the Kerases disagree on where the "_" go.
    return re.match(type(child).__name__.lower() + r"\d*$", child.name.replace("_", "")) is not None


def _role(layer: Any, variable: Any) -> str:
    role = _attribute(layer, variable) or _compat.native_name(variable).split(":")[0].split("/")[-1]
    if role == "kernel" and any(name.startswith("DepthwiseConv") for name in _class_names(layer)):
        return "depthwise_kernel"  # Keras 3 calls it kernel
    return role


def _attribute(layer: Any, variable: Any) -> Optional[str]:
    wanted = _compat.backend_variable(variable)
    for name, value in vars(layer).items():
        if value is variable or (_compat.is_variable(value) and _compat.backend_variable(value) is wanted):
            return name.lstrip("_")
    return None
