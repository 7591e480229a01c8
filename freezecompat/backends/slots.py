"""Changes that leave the slots of optimizers alone."""

import contextlib
import weakref
from typing import Iterable, Iterator

from .held import HeldWeight


@contextlib.contextmanager
def slots_kept(weights: Iterable[HeldWeight]) -> Iterator[None]:
    """What is frozen or thawed in here keeps its slot entries, since a checkpoint has brought those that it must have."""
    adapters = [(held, held.adapters) for held in weights]
    for held, _ in adapters:
        held.adapters = weakref.WeakSet()  # no adapter sees the change, so that none gives the elements fresh slots
    try:
        yield
    finally:
        for held, kept in adapters:
            held.adapters = kept
