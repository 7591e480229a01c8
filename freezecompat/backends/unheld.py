"""Weights of a Keras model that are written by what no freeze can hold, each with the reason: freezing them is refused."""

from typing import Any, Dict, FrozenSet, Iterable

from .. import _compat
from .keras_tree import Place, is_a, layers_within

_STATE = (
    "no optimizer trains this weight, its layer writes it in the forward pass, and that is not held here (the statistics of a "
    "BatchNormalization are, where the target is a Keras model of eager mode that has a train_step). Freeze the trainable "
    "weights; layer.trainable = False, or training=False, keeps such statistics"
)
_SPECTRAL = (
    "a SpectralNormalization divides this weight by its norm in each forward pass of a training, and computes with that "
    "at once: there is no value that could be held. Freeze its bias, or other weights"
)
_SHARPNESS = (
    "a SharpnessAwareMinimization adds to each weight in its train_step, computes a loss there and subtracts again, which is "
    "not exact. Freeze the model inside it, and compile and train that"
)
_ADAPTED = (
    "its layer computes with the sum of this weight and a trained product (enable_lora): the variable never moves, but "
    "what the layer computes with, and saves, does. Freeze lora_kernel_a and lora_kernel_b (an Embedding's lora_embeddings_a "
    "and _b) as a whole, which keeps both"
)


def statistics_held(model: Any, places: Iterable[Place]) -> FrozenSet[str]:
    """Addresses of statistics of BatchNormalization that can be held in the own train step of a model, in eager mode."""
    if not _compat.has_train_step(model):
        return frozenset()
    return frozenset(
        place.address
        for place in places
        if place.is_state and is_a(place.owner, "BatchNormalization") and _compat.graph_of(_backend(place)) is None
    )


def _backend(place: Place) -> Any:
    return _compat.backend_variable(place.variable)


def unheld(source: Any, places: Iterable[Place]) -> Dict[int, str]:
    """Identity of a variable -> why it can't be held, for the weights of a Keras layer or model."""
    reasons = {}
    for place in places:
        if place.is_state:
            reasons[_identity(place.variable)] = _STATE
        elif _compat.is_adapted(place.owner, place.role):
            reasons[_identity(place.variable)] = _ADAPTED
    for layer in layers_within(source):
        if is_a(layer, "SpectralNormalization") and hasattr(layer, "kernel"):  # set by its build
            reasons[_identity(layer.kernel)] = _SPECTRAL
        elif is_a(layer, "SharpnessAwareMinimization"):
            reasons.update((_identity(variable), _SHARPNESS) for variable in layer.trainable_variables)
    return reasons


def _identity(variable: Any) -> int:
    return id(_compat.backend_variable(variable))
