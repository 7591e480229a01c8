"""freezecompat freezes single elements of a model's weights, bit for bit, and trains the rest.

One spec, under every TensorFlow: TF 1.x (eager and graph), tf.compat.v1, tf.keras 2, tf-keras and Keras 3.

    import freezecompat as fc

    frozen = fc.freeze(model, {"hidden/kernel": [(1, 2), (3, 1)]})
    model.fit(x, y)
    frozen.verify()         # raises if a frozen element holds other bits
    frozen.thaw()           # all trains again, from the next step on

Importing it imports numpy alone: no TensorFlow, no environment variable, no class patched.
"""

from . import elements
from ._version import __version__
from .api import detect_backend, freeze, list_weights, restore, run_parity
from .exceptions import (
    AmbiguousWeight,
    ArgumentError,
    DoesNotFit,
    ElementIndexError,
    FreezeCompatError,
    FrozenWeightsMoved,
    GraphAlreadyBuilt,
    MissingDependency,
    Moved,
    NoReferenceYet,
    NotAnOptimizer,
    NotAttached,
    PastUnknown,
    Released,
    SpecTypeError,
    SpecValueError,
    StaleSession,
    StepBypassed,
    UnbuiltModel,
    UnknownWeight,
    WeightReplaced,
)
from .frozen import Frozen
from .masks import build_masks
from .report import Report
from .resolve import Weight
from .schedule import Schedule
from .spec import FreezeSpec

__all__ = [
    "AmbiguousWeight",
    "ArgumentError",
    "DoesNotFit",
    "ElementIndexError",
    "FreezeCompatError",
    "FreezeSpec",
    "Frozen",
    "FrozenWeightsMoved",
    "GraphAlreadyBuilt",
    "MissingDependency",
    "Moved",
    "NoReferenceYet",
    "NotAnOptimizer",
    "NotAttached",
    "PastUnknown",
    "Released",
    "Report",
    "Schedule",
    "SpecTypeError",
    "SpecValueError",
    "StaleSession",
    "StepBypassed",
    "UnbuiltModel",
    "UnknownWeight",
    "Weight",
    "WeightReplaced",
    "build_masks",
    "detect_backend",
    "elements",
    "freeze",
    "list_weights",
    "restore",
    "run_parity",
]
