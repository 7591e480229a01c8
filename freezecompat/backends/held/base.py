"""The state of one weight: whose elements are frozen, the mask that running steps read, and the phases select and correct.

A state lives as long as its variable does, in a table of weak references: a tf.function or a graph that was built with
it goes on reading its mask after a release, and a later freeze reaches it there.
"""

import weakref
from typing import Any, Callable, Iterable, List, Optional, Tuple

import numpy as np

from ... import _compat
from ...element_set import ElementSet
from ...elements import Pinned
from ...exceptions import ArgumentError
from ...masks import merge_pins


class HeldWeight:
    """The frozen elements of one variable, over all live `Frozen`s.

    `frozen` is what is wanted. What running steps see is brought to it by `bring`, which an eager weight does at once and
    a weight of a graph once for each session.
    """

    def __init__(self, variable: Any) -> None:
        self._variable = weakref.ref(variable)
        self.shape = tuple(int(size) for size in variable.shape)
        self.dtype = _compat.dtype_name(variable)
        self.frozen = ElementSet.empty(self.shape)
        self.adapters: Any = weakref.WeakSet()
        self._owners: Any = weakref.WeakKeyDictionary()
        self._pins: Any = weakref.WeakKeyDictionary()
        self._version = 0
        self._changes: List[Tuple[int, ElementSet]] = []

    @property
    def variable(self) -> Any:
        return self._variable()

    def own(self, owner: Any, elements: ElementSet) -> None:
        """Let `elements` be what `owner` wants frozen here."""
        if elements:
            self._owners[owner] = elements
        else:
            self._owners.pop(owner, None)
        if owner in self._pins:
            self._pins[owner] = _among(self._pins[owner], elements)
        wanted = ElementSet.empty(self.shape)
        for owned in self._owners.values():
            wanted = wanted | owned
        changed = wanted ^ self.frozen
        self.frozen = wanted
        if changed:
            # An element stands in the log once, at its latest change: the log never outgrows the weight.
            self._version += 1
            older = [(version, elements - changed) for version, elements in self._changes]
            self._changes = [(version, elements) for version, elements in older if elements]
            self._changes.append((self._version, changed))

    def check_pins(self, pinned: Pinned) -> None:
        """Raise where a live owner has pinned one of the elements at another value."""
        for other in self._pins.values():
            merge_pins(_compat.native_name(self.variable), other, pinned)

    def pin(self, owner: Any, pinned: Pinned, session: Any) -> None:
        """Set elements to their values."""
        value = np.array(self.read(session))
        value.reshape(-1)[pinned.elements.flat()] = pinned.values
        self.write(value, session)
        self._pins[owner] = merge_pins("", self._pins.get(owner), pinned)

    def _changed_since(self, version: int) -> ElementSet:
        changed = ElementSet.empty(self.shape)
        for changed_at, elements in self._changes:
            if changed_at > version:
                changed = changed | elements
        return changed

    @property
    def built(self) -> bool:
        """True once ops of a TF1 graph read the mask, so that a change is a state of each session."""
        return False

    # The phases: ops in whatever is being built or run now ------------------------------------------------------------

    def mask(self, rows: Any = None) -> Any:
        """A bool tensor of the weight's shape, or of these rows of it, True = frozen."""
        raise NotImplementedError

    def select(self, gradient: Any) -> Any:
        """The gradient with exactly 0 in place of what belongs to a frozen element; it can be differentiated."""
        return self._selected(gradient, self._zero_where_frozen)

    def select_for_step(self, gradient: Any) -> Any:
        """The same for an optimizer, which does not differentiate it."""
        return self._selected(gradient, self._clear_where_frozen)

    def _selected(self, gradient: Any, zero: Callable[..., Any]) -> Any:
        tf = _compat.tensorflow()
        if gradient is None or (tf.executing_eagerly() and not self.frozen):
            return gradient
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.convert_to_tensor(gradient.values)  # it may be made of arrays
            if not self.frozen and not values.shape[1:].is_compatible_with(self.shape[1:]):
                return gradient  # the optimizer says what is wrong with it
            return tf.IndexedSlices(zero(values, gradient.indices), gradient.indices, gradient.dense_shape)
        tensor = self._as_tensor(gradient)
        if tensor is not None and tensor.shape.is_compatible_with(self.shape):
            return zero(tensor)
        if not self.frozen:
            return gradient if tensor is None else self._left_to_the_optimizer(tensor)
        if tensor is None:
            raise ArgumentError(
                "the gradient of {} is a tensor of numbers, tf.IndexedSlices or None; received {!r}".format(
                    _compat.native_name(self.variable), gradient
                )
            )
        if tensor.shape.ndims == 0:
            return zero(tf.fill(self.shape, tensor))
        raise ArgumentError(
            "the gradient of {} has shape {}, the weight has shape {}. Were gradients and variables paired in "
            "another order?".format(_compat.native_name(self.variable), tensor.shape, self.shape)
        )

    def _left_to_the_optimizer(self, gradient: Any) -> Any:
        """A gradient of another shape while nothing is frozen: an optimizer that refuses it says so in its own words.

        One that it broadcasts keeps its shape, and is 0 where a later freeze leaves it no free element. Where it counts for a
        free element too, a frozen one gets a share in its slots, which a thaw sets anew.
        """
        tf = _compat.tensorflow()
        axes = _broadcast_axes(gradient.shape.as_list(), self.shape)
        if axes is None:
            return gradient
        frozen = tf.reshape(tf.reduce_all(self.mask(), axes), gradient.shape)
        return _compat.select(frozen, tf.zeros_like(gradient), gradient)

    def _zero_where_frozen(self, values: Any, rows: Any = None) -> Any:
        # Selected, never multiplied: 0 * nan is nan (CASES: a frozen element's gradient may be anything).
        return _compat.zero_where(self.mask(rows), values)

    def _clear_where_frozen(self, values: Any, rows: Any = None) -> Any:
        return _compat.cleared_where(self.mask(rows), values)

    def _as_tensor(self, gradient: Any) -> Any:
        """A gradient as a tensor of numbers; None if it is none."""
        try:
            tensor = _compat.tensorflow().convert_to_tensor(gradient)
        except (TypeError, ValueError):
            return None
        return tensor if tensor.dtype.is_floating or tensor.dtype.is_complex or tensor.dtype.is_integer else None

    def snapshot(self) -> Any:
        """The values before a step; of a free element it may be 0.

        What steps a resource variable makes a copy while this tensor of its values is there. The buffer of a reference variable
        is written, whoever has it: there `select` copies (adding 0 would turn -0.0 into 0.0).
        """
        value = self.variable.read_value()
        if not _compat.is_reference(self.variable):
            return value
        return _compat.select(self.mask(), value, _compat.tensorflow().zeros_like(value))

    def keep_first(self, snapshot: Any) -> Any:
        """An op that keeps the held values of a session's first step, where sessions are."""
        return None

    def put_back(self, snapshot: Any) -> Any:
        """Write the held values over what the step left in the frozen elements."""
        return self.variable.assign(self.corrected(snapshot, self.variable))

    def corrected(self, snapshot: Any, value: Any) -> Any:
        """A value of the weight, a tensor or a variable, with the held values in the frozen elements."""
        return _compat.select(self.mask(), snapshot, _compat.as_tensor(value))

    # Values, from outside of a step -----------------------------------------------------------------------------------

    def read(self, session: Any = None) -> np.ndarray:
        """The present values."""
        raise NotImplementedError

    def write(self, value: np.ndarray, session: Any = None) -> None:
        """Assign an array of the weight's shape."""
        raise NotImplementedError

    def bring(self, session: Any = None) -> ElementSet:
        """Let the steps of this session see what is wanted, and give changed elements the slots of a fresh optimizer.

        Returns:
            The elements that were frozen or thawed there.
        """
        raise NotImplementedError

    def reset_slots_of(self, adapter: Any) -> None:
        """The same for all frozen elements, under an optimizer that begins or ends to be attached."""
        if self.frozen:
            adapter.reset_slots(self, self.frozen, self.present_session())

    def present_session(self) -> Any:
        """The session whose values can be reached without being told which; None in eager mode too."""
        return None

    def forget_first_mask(self) -> None:
        """Let sessions of a TF1 graph that begin from now on start with nothing frozen."""

    def ignore_updates(self, ops: Iterable[Any]) -> None:
        """Updates of a TF1 graph that read our mask, or never run again."""

    def _reset_slots(self, changed: ElementSet, session: Any = None) -> None:
        for adapter in list(self.adapters):
            adapter.reset_slots(self, changed, session)


def _broadcast_axes(sizes: List[Optional[int]], shape: Tuple[int, ...]) -> Optional[List[int]]:
    """The axes of `shape` along which a tensor of these sizes is repeated; None where it can't be."""
    new = len(shape) - len(sizes)
    pairs = list(zip(sizes, shape[max(new, 0) :]))
    if new < 0 or any(size not in (1, own) for size, own in pairs):
        return None
    return list(range(new)) + [new + axis for axis, (size, own) in enumerate(pairs) if size != own]


def _among(pinned: Pinned, elements: ElementSet) -> Pinned:
    kept = pinned.elements & elements
    return Pinned(kept, pinned.values[np.isin(pinned.elements.flat(), kept.flat())])
