"""What a `tf.train.ExponentialMovingAverage` keeps for a weight, which a program swaps in or saves under its name."""

from typing import Any, Mapping

import numpy as np

from .. import _compat
from ..element_set import ElementSet
from .held import HeldWeight, held_weight


def set_averages(changed: Mapping[HeldWeight, ElementSet], session: Any) -> None:
    """Let the averages of elements that were frozen or thawed be what a new average begins with: their present values.

    From there on the average of a frozen element stands still, as the element does.
    """
    averages = _compat.moving_averages([held.variable for held in changed])
    for held, elements in changed.items():
        for average in averages:
            kept = average.average(held.variable)
            if kept is not None:
                _set(held_weight(kept), held, elements, session)


def _set(kept: HeldWeight, held: HeldWeight, elements: ElementSet, session: Any) -> None:
    try:
        present = kept.read(session)
    except _compat.tensorflow().errors.FailedPreconditionError:
        return  # not initialised: it will begin with the weight's values
    kept.write(np.where(elements.dense(), held.read(session), present), session)
