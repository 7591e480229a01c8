"""Stand-ins for the layers that a file describes: all that `backends/keras_tree.py` reads of a layer.

So the addresses of a file's weights, and what their axes mean, come from the very code that finds those of a live
model. What a class holds stands in the tables below; a class that is not there has what the file says it has.
"""

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..backends import keras_tree
from ..backends.keras_meaning import Meaning
from ..resolve import Weight

_Config = Dict[str, Any]

#: Roles of the weights that a layer writes itself.
STATE = frozenset(("moving_mean", "moving_variance"))


class FileWeight:
    """A weight in a file.

    Attributes:
        role: kernel, bias, ...
        source: what its reader finds it by; None until it is known.
        shape, dtype: those in the file.
        name: what the file calls it.
        trainable: whether it is trained.
        is_meant: whether the class of its layer is known, and so what its axes mean.
    """

    def __init__(self, role: str, trainable: bool = True, is_meant: bool = False) -> None:
        self.role = role
        self.trainable = trainable and role not in STATE
        self.is_meant = is_meant
        self.source: Any = None
        self.shape: Tuple[int, ...] = ()
        self.dtype = ""
        self.name = ""

    def found(self, source: Any, shape: Sequence[int], dtype: str, name: str) -> None:
        """Say where in the file it is."""
        self.source, self.shape, self.dtype, self.name = source, tuple(shape), dtype, name


class StandIn:
    """A layer or model as a file describes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._trainable_weights: List[FileWeight] = []
        self._non_trainable_weights: List[FileWeight] = []
        self._inside: List["StandIn"] = []

    def _flatten_layers(self, recursive: bool, include_self: bool) -> List["StandIn"]:
        return self._inside

    def hold(self, weight: FileWeight) -> None:
        """Add a weight of its own."""
        setattr(self, "___" + weight.role, weight)  # keras_tree leaves underscores out, and a role may be "name"
        (self._non_trainable_weights if weight.role in STATE else self._trainable_weights).append(weight)

    def add(self, layer: "StandIn", attribute: Optional[str] = None) -> None:
        """Add a layer inside it."""
        self._inside.append(layer)
        if attribute is not None:
            setattr(self, attribute, layer)


class Inside(NamedTuple):
    """A layer inside another, as the config of the outer one has it."""

    paths: Tuple[str, ...]  # the groups that hold it in a file of the newer format, within the group of the outer layer
    class_name: str
    config: _Config
    name: str
    attribute: Optional[str] = None


def make(class_name: str, config: _Config, name: str) -> StandIn:
    """Make the stand-in of a layer of a class; its weights and layers are added by the caller."""
    bases: Tuple[type, ...] = (StandIn,)
    if class_name in _CELLS:
        bases = (type("RNN", bases, {}),)
    layer = type(class_name, bases, {})(name)
    if class_name == "EinsumDense":
        layer.equation, layer.bias_axes = config.get("equation"), config.get("bias_axes")  # type: ignore[attr-defined]
    return layer


def roles(class_name: str, config: _Config) -> Tuple[str, ...]:
    """The weights that a layer of a class holds itself, in the order in which it makes them."""
    return _ROLES[class_name](config) if class_name in _ROLES else ()


def roles_by_number(class_name: str, number: int) -> Optional[Tuple[str, ...]]:
    """The only roles that so many weights of a class can have, where its config is not known; else None."""
    likely: Tuple[_Config, ...] = ({}, {"use_bias": False}, {"bias_axes": "a"})
    return next((found for found in (roles(class_name, config) for config in likely) if len(found) == number), None)


def inside(class_name: str, config: Any) -> List[Inside]:
    """The layers inside a layer, in their order in the tree."""
    layers = config if isinstance(config, list) else config.get("layers")  # a list: Sequential up to Keras 2.2.2
    if isinstance(layers, list):
        return _contained(("layers", "_layer_checkpoint_dependencies"), layers)
    if class_name in _CELLS:
        cell = _CELLS[class_name]
        return [Inside(("cell",), cell, config, _snake(cell))]
    if class_name == "RNN" and "cell" in config:
        return [_described(("cell",), config["cell"])]
    if class_name == "StackedRNNCells":
        return _contained(("cells",), config.get("cells", []))
    if class_name == "Bidirectional" and "layer" in config:
        return _directions(config)
    if class_name == "MultiHeadAttention":
        return _projections(config)
    if isinstance(config.get("layer"), dict):  # TimeDistributed and the other wrappers
        return [_described(("layer",), config["layer"])]
    return []


def class_of(automatic_name: str) -> str:
    """The class after which Keras calls a layer so, where it is known; else "Layer"."""
    return _OF_NAME.get(re.sub(r"_\d+$", "", automatic_name), "Layer")


def rows(root: StandIn) -> Tuple[List[Weight], Dict[str, Any]]:
    """The rows of a tree, and `{address: source}`.

    They are numbered where all is known of each, and each has a name of its own: only then the tree has the order in
    which the model has its weights. Keras 2 writes a layer twice that two models share, under the same names.
    """
    found, sources = [], {}
    places = list(keras_tree.places(root))
    is_ordered = all(place.variable.is_meant for place in places)
    is_ordered = is_ordered and len({place.variable.name for place in places}) == len(places)
    for place in places:
        weight = place.variable
        meaning = place.meaning if weight.is_meant else Meaning()
        found.append(
            Weight(
                address=place.address,
                shape=weight.shape,
                dtype=weight.dtype,
                trainable=weight.trainable,
                name=weight.name,
                ordinal=sum(row.trainable for row in found) if is_ordered and weight.trainable else None,
                layer=place.layer,
                role=place.role,
                outer_units=place.outer_units if weight.is_meant else None,
                **meaning._asdict(),
            )
        )
        sources[place.address] = weight.source
    return found, sources


def _described(paths: Sequence[str], layer: _Config) -> Inside:
    config = layer["config"]
    name = (config.get("name") if isinstance(config, dict) else None) or layer.get("name")
    return Inside(tuple(paths), layer["class_name"], config, name or _snake(layer["class_name"]))


def _contained(containers: Sequence[str], layers: Sequence[_Config]) -> List[Inside]:
    """Layers of a list: their groups are called after their classes, and numbered."""
    taken: Dict[str, int] = {}
    found = []
    for layer in layers:
        group = _snake(layer["class_name"])
        number = taken[group] = taken.get(group, -1) + 1
        group += "_{}".format(number) if number else ""
        found.append(_described(["{}/{}".format(container, group) for container in containers], layer))
    return found


def _directions(config: _Config) -> List[Inside]:
    forward = _described(("forward_layer",), config["layer"])
    backward = _described(("backward_layer",), config.get("backward_layer") or config["layer"])
    plain = re.sub("^forward_", "", forward.name)  # Keras 3 has given it its new name by the time it writes the config
    other = plain if config.get("backward_layer") is None else re.sub("^backward_", "", backward.name)
    return [forward._replace(name="forward_" + plain), backward._replace(name="backward_" + other)]


def _projections(config: _Config) -> List[Inside]:
    """The layers inside an attention; an attention over several axes has the same kernels."""
    bias = config.get("use_bias", True)
    shape = config.get("output_shape")
    out = "efgh"[: len(shape)] if isinstance(shape, (list, tuple)) else "e"
    found = []
    for part in ("query", "key", "value"):
        found.append((part, part, {"equation": "abc,cde->abde", "bias_axes": "de" if bias else None}))
    equation = "abcd,cd{0}->ab{0}".format(out)
    found.append(("output", "attention_output", {"equation": equation, "bias_axes": out if bias else None}))
    return [
        Inside((part + "_dense", "_{}_dense".format(part)), "EinsumDense", made, name, "_{}_dense".format(part))
        for part, name, made in found
    ]


def _snake(class_name: str) -> str:
    """As Keras makes a name of a class."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", class_name))
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _and_bias(*kernels: str) -> Callable[[_Config], Tuple[str, ...]]:
    return lambda config: kernels + (("bias",) if config.get("use_bias", True) else ())


def _of_normalization(*state: str) -> Callable[[_Config], Tuple[str, ...]]:
    def found(config: _Config) -> Tuple[str, ...]:
        gamma = ("gamma",) if config.get("scale", True) else ()
        return gamma + (("beta",) if config.get("center", True) else ()) + state

    return found


_CELLS = {
    "LSTM": "LSTMCell",
    "GRU": "GRUCell",
    "SimpleRNN": "SimpleRNNCell",
    "ConvLSTM1D": "ConvLSTMCell",
    "ConvLSTM2D": "ConvLSTM2DCell",
    "ConvLSTM3D": "ConvLSTMCell",
}
_ROLES: Dict[str, Callable[[_Config], Tuple[str, ...]]] = {
    "EinsumDense": lambda config: ("kernel",) + (("bias",) if config.get("bias_axes") else ()),
    "Embedding": lambda config: ("embeddings",),
    "PReLU": lambda config: ("alpha",),
    "BatchNormalization": _of_normalization("moving_mean", "moving_variance"),
    "SyncBatchNormalization": _of_normalization("moving_mean", "moving_variance"),
    "LayerNormalization": _of_normalization(),
    "GroupNormalization": _of_normalization(),
}
_ROLES.update((cell, _and_bias("kernel", "recurrent_kernel")) for cell in _CELLS.values())
_ROLES.update((name, _and_bias("depthwise_kernel")) for name in ("DepthwiseConv1D", "DepthwiseConv2D"))
_ROLES.update(
    (name, _and_bias("depthwise_kernel", "pointwise_kernel")) for name in ("SeparableConv1D", "SeparableConv2D")
)
_ROLES.update((name, _and_bias("kernel")) for name in ("Dense", "Conv1D", "Conv2D", "Conv3D"))
_ROLES.update((name + "Transpose", _and_bias("kernel")) for name in ("Conv1D", "Conv2D", "Conv3D"))
# Up to Keras 2: an alias in the module, a class in the config. Their bias holds that of both kernels.
_ROLES.update((name, lambda config: ("kernel", "recurrent_kernel", "bias")) for name in ("CuDNNLSTM", "CuDNNGRU"))

_OF_NAME = {_snake(name): name for name in list(_ROLES) + list(_CELLS) + ["MultiHeadAttention"]}
