"""The masks of models that TensorFlow Model Optimization (tfmot) prunes, which is not imported here."""

from typing import Any, Dict

import numpy as np

from .. import _compat
from ..exceptions import ArgumentError
from .keras_tree import pruning_wrappers
from .targets import describe


def pruned_elements(model: Any, session: Any = None) -> Dict[str, np.ndarray]:
    """`{address: bool array, True = pruned now}` of each weight that tfmot prunes, in weight order.

    Raises:
        ArgumentError: no layer is pruned, or the values of a TF1 graph need a session.
    """
    wrappers = pruning_wrappers(model) if _compat.keras_kind(model) else []
    pairs = [(weight, mask) for wrapper in wrappers for weight, mask, _ in wrapper.pruning_vars]
    if not pairs:
        raise ArgumentError(
            "{!r} has no layer that prunes: pass the model that tfmot's prune_low_magnitude made, built and before "
            "strip_pruning; after it, {{address: elements.zeros()}} freezes what is 0".format(model)
        )
    target = describe(model)
    session = target.session(session)
    address = {id(handle): row.address for row in target.rows for handle in row.handles}
    found = {
        address[id(_compat.backend_variable(weight))]: target.read(address[id(mask)], session) == 0
        for weight, mask in pairs
    }
    return {row.address: found[row.address] for row in target.rows if row.address in found}
