"""A table for what belongs to an object of another library."""

import weakref
from typing import Any, Callable, Dict, Tuple


class WeakTable:
    """Values kept for objects that can't be dictionary keys (TF 2 variables), by identity, as long as the objects live."""

    def __init__(self) -> None:
        self._entries: Dict[int, Tuple[Any, Any]] = {}

    def get(self, key: Any, make: Callable[[Any], Any]) -> Any:
        entry = self._entries.get(id(key))
        if entry is None:
            number = id(key)
            reference = weakref.ref(key, lambda _: self._entries.pop(number, None))
            entry = self._entries[number] = (reference, make(key))
        return entry[1]
