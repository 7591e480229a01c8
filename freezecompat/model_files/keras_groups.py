"""The tree of layers in a file of Keras' newer format: a group for each layer, its weights numbered in `vars`."""

import re
from collections import Counter
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .base import dtype_name
from .hdf5 import is_dataset, text
from .stand_ins import FileWeight, Inside, StandIn, class_of, inside, make, roles, roles_by_number

#: What is no weight: an optimizer's variables, the state of metrics and of random generators.
_LEFT_OUT_OF_MODEL = frozenset(("optimizer", "metrics"))
_LISTS = frozenset(("layers", "_layer_checkpoint_dependencies"))
_LEFT_OUT = frozenset(("vars", "seed_generator"))


def tree(file: Any, config: Optional[Dict[str, Any]]) -> StandIn:
    """The model in a file.

    Args:
        file: its root.
        config: `{"class_name": ..., "config": ...}` of the model, or None: then names are those in the file, else the
            paths of the groups.
    """
    if config is None:
        return _layer(file, Inside((), "Layer", {}, ""), None, _LEFT_OUT_OF_MODEL)
    return _layer(file, Inside((), config["class_name"], config["config"], ""), True, _LEFT_OUT_OF_MODEL)


def _layer(group: Any, described: Inside, trainable: Optional[bool], left_out: Any = frozenset()) -> StandIn:
    """The layer of a group; trainable is None where no config says what it is."""
    class_name, config = described.class_name, described.config
    is_known = trainable is not None
    if is_known and isinstance(config, dict):
        trainable = trainable and config.get("trainable", True)
    elif class_name == "Layer" and "cell" in group:
        class_name = "RNN"
    layer = make(class_name, config, (_name(group) if is_known else None) or described.name)
    _add_weights(layer, group, described, trainable, is_known)
    claimed = set()
    for one in inside(class_name, config):
        path = next((path for path in one.paths if path in group), None)
        if path is not None:
            claimed.add(path)
            layer.add(_layer(group[path], one, trainable), one.attribute)
    for child, one in _told_apart(list(_others(group, claimed, left_out))):
        layer.add(_layer(child, one, None))
    return layer


def _add_weights(layer: StandIn, group: Any, described: Inside, trainable: Optional[bool], is_known: bool) -> None:
    held = group["vars"] if "vars" in group else {}
    names = sorted((name for name in held if is_dataset(held[name])), key=lambda name: (len(name), name))
    if is_known:
        found: Optional[Tuple[str, ...]] = roles(described.class_name, described.config)
    else:
        found = roles_by_number(described.class_name, len(names))
    is_meant = is_known and found is not None and len(found) == len(names)
    if found is None or len(found) != len(names):
        found = tuple(names)
    for role, name in zip(found, names):
        weight = FileWeight(role, trainable is not False, is_meant)
        dataset = held[name]
        weight.found(dataset.name, dataset.shape, dtype_name(dataset.dtype), dataset.name.lstrip("/"))
        layer.hold(weight)


def _name(group: Any) -> Optional[str]:
    """The name of a layer that later Keras 3 writes beside its weights; that of the model itself is in no address."""
    return text(group["vars"].attrs["name"]) if "vars" in group and "name" in group["vars"].attrs else None


def _told_apart(layers: List[Tuple[Any, Inside]]) -> Iterator[Tuple[Any, Inside]]:
    """Layers of one name are called by their paths: which comes first, and which is `~2`, is not known here."""
    names = Counter(_name(group) or one.name for group, one in layers)
    for group, one in layers:
        name = _name(group) or one.name
        yield group, one._replace(name=name if names[name] == 1 else one.paths[0])


def _others(group: Any, claimed: Any, left_out: Any) -> Iterator[Tuple[Any, Inside]]:
    """Groups that no config describes; those in a list are called after their classes."""
    for name in _ordered(group):
        child = group[name]
        if name in _LEFT_OUT or name in left_out or name in claimed or is_dataset(child):
            continue
        if "vars" in child:
            class_name = class_of(_name(child) or "") if name == "cell" else "Layer"
            yield child, Inside((name,), class_name, {}, name)
            continue
        for inner, one in _others(child, {_within(path, name) for path in claimed}, frozenset()):
            path = one.paths[0]
            yield inner, Inside(
                (name + "/" + path,),
                class_of(path.rpartition("/")[2]),
                {},
                path if name in _LISTS else name + "/" + path,
            )


def _within(path: str, container: str) -> str:
    return path[len(container) + 1 :] if path.startswith(container + "/") else ""


def _ordered(group: Any) -> List[str]:
    """The groups of a list in its order, dense_2 before dense_10; others by name."""
    return sorted(group, key=lambda name: (re.sub(r"_\d+$", "", name), len(name), name))
