"""The tree of layers in a file of Keras' older format: a group for each outermost layer, weights by native names."""

import re
from typing import Any, Dict, List, Optional

from ..backends import keras_tree
from .base import dtype_name
from .hdf5 import texts
from .stand_ins import FileWeight, Inside, StandIn, inside, make, roles

_CELL = re.compile(r"(lstm_cell|gru_cell|simple_rnn_cell|stacked_rnn_cells)(_\d+)?$")
_NUMBERED = re.compile(r"(kernel|recurrent_kernel|bias)_\d+$")
_OF_MODEL = "top_level_model_weights"


def tree(weights: Any, config: Optional[Dict[str, Any]]) -> StandIn:
    """The model in a file.

    Args:
        weights: the group of its outermost layers.
        config: `{"class_name": ..., "config": ...}` of the model, or None: then layers are found by the weights' names.
    """
    root = StandIn("")
    described = {}
    if config is not None:
        is_trained = not isinstance(config["config"], dict) or config["config"].get("trainable", True)
        described = {one.name: _layer(one, is_trained) for one in inside(config["class_name"], config["config"])}
    for name in texts(weights.attrs, "layer_names"):
        layer = described.get(name)
        if layer is None or not _placed(layer, weights[name]):
            layer = _by_names(name, weights[name])
        root.add(layer)
    if _OF_MODEL in weights:
        for name in texts(weights[_OF_MODEL].attrs, "weight_names"):
            root.hold(_found(FileWeight(_role(name)), weights[_OF_MODEL], name))
    return root


def _layer(described: Inside, trainable: bool) -> StandIn:
    class_name, config = described.class_name, described.config
    trainable = trainable and (not isinstance(config, dict) or config.get("trainable", True))
    layer = make(class_name, config, described.name)
    for role in roles(class_name, config):
        layer.hold(FileWeight(role, trainable, is_meant=True))
    for one in inside(class_name, config):
        layer.add(_layer(one, trainable), one.attribute)
    return layer


def _placed(layer: StandIn, group: Any) -> bool:
    """Find the weights of a layer, which Keras writes and loads by their order: first those that are trained."""
    places = list(keras_tree.places(layer))
    places.sort(key=lambda place: not place.variable.trainable)
    names = texts(group.attrs, "weight_names")
    if [place.role for place in places] != [_role(name) for name in names]:
        return False
    for place, name in zip(places, names):
        _found(place.variable, group, name)
    return True


def _by_names(layer_name: str, group: Any) -> StandIn:
    """A layer of an unknown class: the segments of a weight's name after the layer's own are layers inside it."""
    top = StandIn(layer_name)
    for name in texts(group.attrs, "weight_names"):
        *path, _ = name.split(":")[0].split("/")
        layer = top
        for segment in _after(path, layer_name):
            if not _CELL.match(segment):
                known = [one for one in layer._flatten_layers(False, False) if one.name == segment]
                if not known:
                    known = [StandIn(segment)]
                    layer.add(known[0])
                layer = known[0]
        layer.hold(_found(FileWeight(_role(name)), group, name))
    return top


def _after(path: List[str], layer_name: str) -> List[str]:
    """What follows the layer in the path to its weight; a graph may have numbered it once more."""
    own = layer_name.split("/")
    for start in range(len(path) - len(own) + 1):
        part = path[start : start + len(own)]
        if part == own or (not start and part[:-1] + [re.sub(r"_\d+$", "", part[-1])] == own):
            return path[start + len(own) :]
    return path


def _role(name: str) -> str:
    role = name.split(":")[0].split("/")[-1]
    return role.rpartition("_")[0] if _NUMBERED.match(role) else role


def _found(weight: FileWeight, group: Any, name: str) -> FileWeight:
    weight.found(group[name].name, group[name].shape, dtype_name(group[name].dtype), name)
    return weight
