"""Where the weights of a target come from, and which of them it has replaced since they were found."""

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from .. import _compat
from .held import HeldWeight
from .keras_tree import Place, layers_within

_REPLACED = (
    "it is no longer the variable that was frozen: its layer, or the variable in it, was replaced since (pop and add, an "
    "attribute set anew, build, quantize)"
)
_ADAPTED = "its layer adds a trained product to it since enable_lora, so that what the layer computes with is not held"


class Origin:
    """A Keras model or layer, or a tf.Module, and the layers that used each weight when it was described.

    A list or dict of variables has none of its own: nothing there can be replaced.
    """

    def __init__(self, source: Any = None, places: Optional[Mapping[int, List[Place]]] = None) -> None:
        """`places`: where each variable is used, by its identity."""
        self._source = source
        self._uses = {
            identity: [(place.owner, place.role) for place in used] for identity, used in (places or {}).items()
        }

    def replaced(self, weights: Mapping[str, HeldWeight]) -> Dict[str, str]:
        """Address -> why, for those of the weights that are not what the target trains any more."""
        if self._source is None or not weights:
            return {}
        present = _identities(weights_of(self._source))
        layers = {id(layer) for layer in layers_within(self._source)} if self._uses else set()
        found = {}
        for address, held in weights.items():
            identity = id(held.variable)
            uses = self._uses.get(identity, [])
            if identity not in present or not all(_still_uses(layer, identity, layers) for layer, _ in uses):
                found[address] = _REPLACED
            elif any(_compat.is_adapted(layer, role) for layer, role in uses):
                found[address] = _ADAPTED
        return found


def weights_of(source: Any) -> Sequence[Any]:
    """The variables of a Keras layer or a tf.Module; [] where a layer has none yet."""
    if _compat.keras_kind(source) is None:
        return list(source.variables)
    try:
        return list(source.weights)
    except ValueError:  # Keras 2: "Weights for model x have not yet been created"
        return []


def _still_uses(layer: Any, identity: int, layers: set) -> bool:
    own = [variable for variable, _ in _compat.own_variables(layer)]
    return id(layer) in layers and identity in _identities(own)


def _identities(variables: Iterable[Any]) -> set:
    return {id(_compat.backend_variable(variable)) for variable in variables}
