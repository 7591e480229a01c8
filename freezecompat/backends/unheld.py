"""Weights of a Keras model that are written by what no freeze can hold, each with the reason: freezing them is refused."""

from typing import Any, Dict, Iterable

from .. import _compat
from .keras_tree import Place, is_a, layers_within

_FORWARD = "its layer writes it in the forward pass, and that is not held yet"
_STATE = (
    "no optimizer trains this weight, " + _FORWARD + ". Freeze the trainable weights; layer.trainable = False, or "
    "training=False, keeps the statistics of a BatchNormalization"
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
