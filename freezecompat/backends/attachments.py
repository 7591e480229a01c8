"""Which optimizers a Frozen is attached to: those that it was given, and the one that its model is compiled with."""

import functools
import warnings
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .. import _compat
from ..exceptions import ArgumentError, NotAnOptimizer
from .base import Adapter, hooked_by
from .keras import Keras3Optimizer, KerasOptimizer, ModelHooks
from .targets import Target
from .tf1 import TrainOptimizer

_ADAPTERS = {"v1": TrainOptimizer, "keras3": Keras3Optimizer, "keras": KerasOptimizer, "legacy": KerasOptimizer}


def optimizers_in(optimizer: Any) -> List[Any]:
    """The optimizers that a user gave: none, one, or a list, each checked."""
    if optimizer is None:
        return []
    given = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
    found = [_compat.stepping_optimizer(one) for one in given]
    for one in found:
        if not _compat.optimizer_kind(one):
            hint = "pass an instance, not its class" if isinstance(one, type) else "pass the object that training calls"
            raise NotAnOptimizer("optimizer={!r} is no tf.train optimizer and no Keras optimizer; {}".format(one, hint))
    return found


class Attachments:
    """The adapters of one Frozen. An optimizer's hook knows all its owners, and goes with the last of them."""

    def __init__(self, owner: Any, target: Target) -> None:
        self._owner = owner
        self._target = target
        self._given: List[Adapter] = []
        self._followed: Optional[Adapter] = None
        self._model_hooks: Optional[ModelHooks] = None
        self._seen: Dict[Adapter, Tuple[int, int]] = {}
        self._detached: Any = weakref.WeakSet()  # not followed, though the model is compiled with one of them
        self.by_hand = False

    @property
    def adapters(self) -> List[Adapter]:
        return self._given + ([self._followed] if self._followed is not None else [])

    @property
    def names(self) -> List[str]:
        """What holds the elements, for people to read."""
        return [type(a.optimizer).__name__ for a in self.adapters] + (["hand-written updates"] if self.by_hand else [])

    def attach(self, optimizer: Any) -> None:
        """Join an optimizer at the outermost one that the training calls: there the gradient must be selected.

        A `tf.train` optimizer inside it is joined too: what the outer one does after its step, such as averaging, must see
        the held values.
        """
        compiled = self._compiled()
        self._detached.discard(optimizer)
        if compiled is not None and any(one is optimizer for one in _compat.optimizers_within(compiled)):
            self._attach(compiled, _compat.holders)
            return
        inside = [one for one in _compat.optimizers_within(optimizer)[1:] if _compat.optimizer_kind(one) == "v1"]
        holders = functools.lru_cache(maxsize=None)(_compat.holders)
        family = [optimizer] + inside + _compat.wrappers_around(optimizer, holders)
        for one in family:
            _check_holdable(one)
        for one in family:
            self._attach(one, holders)

    def _attach(self, optimizer: Any, holders: Callable[[Any], List[Any]]) -> None:
        if self._followed is not None and self._followed.optimizer is optimizer:
            self._given.append(self._followed)
            self._followed = None
        elif all(adapter.optimizer is not optimizer for adapter in self._given):
            self._given.append(self._join(optimizer, holders))

    def detach(self, optimizer: Any) -> None:
        inside = _compat.optimizers_within(optimizer)
        joined = [
            one
            for one in self.adapters
            if any(inner is optimizer for inner in _compat.optimizers_within(one.optimizer))
            or any(inner is one.optimizer for inner in inside)
        ]
        if not joined:
            raise ArgumentError("can't detach {}: this Frozen is not attached to it".format(type(optimizer).__name__))
        for adapter in joined:
            self._leave(adapter)
            self._detached.add(adapter.optimizer)

    def start_following(self, check: Callable[[], None]) -> None:
        """Follow the model's optimizer from here on, and `check` whenever that is looked at before a training."""

        def follow_and_check() -> None:
            self.follow()
            check()

        if self._target.model is not None:
            self._model_hooks = hooked_by(self._target.model, ModelHooks) or ModelHooks(self._target.model)
            self._model_hooks.add(self._owner, follow_and_check, self._target.held.values())
            self.follow()

    def follow(self) -> None:
        """Be attached to the optimizer that the model is compiled with now."""
        compiled = self._compiled()
        if compiled is None or compiled in self._detached:
            return
        if any(adapter.optimizer is compiled for adapter in self.adapters):
            return
        old, self._followed = self._followed, self._join(compiled, _compat.holders)
        if old is not None:
            self._leave(old)

    def hold_statistics(self, addresses: Iterable[str]) -> None:
        """Hold those of the weights that no optimizer steps, in the train step of the model."""
        held = [self._target.held[one] for one in addresses if one in self._target.statistics]
        if held and self._model_hooks is not None:
            self._model_hooks.hold_statistics(held)

    def leave_all(self) -> None:
        for adapter in self.adapters:
            self._leave(adapter)
        if self._model_hooks is not None:
            self._model_hooks.remove(self._owner)
            self._model_hooks = None

    def _compiled(self) -> Any:
        return _compat.stepping_optimizer(getattr(self._target.model, "optimizer", None))

    def _join(self, optimizer: Any, holders: Callable[[Any], List[Any]]) -> Adapter:
        adapter = hooked_by(optimizer, Adapter)
        if adapter is None:
            if self._target.graph is None:
                _check_can_be_made_anew(optimizer)
            adapter = _ADAPTERS[_compat.optimizer_kind(optimizer)](optimizer)
        self._remake_train_steps(adapter, holders)
        adapter.owners.append(self._owner)
        for held in self._target.held.values():
            if adapter not in held.adapters:
                held.adapters.add(adapter)
                held.reset_slots_of(adapter)
        self._seen[adapter] = adapter.steps()
        return adapter

    def _leave(self, adapter: Adapter) -> None:
        self._given = [one for one in self._given if one is not adapter]
        if self._followed is adapter:
            self._followed = None
        self._seen.pop(adapter, None)
        adapter.owners.remove(self._owner)
        if not adapter.owners:
            adapter.uninstall()
            for held in self._target.held.values():
                held.reset_slots_of(adapter)
                held.adapters.discard(adapter)

    def _remake_train_steps(self, adapter: Adapter, holders: Callable[[Any], List[Any]]) -> None:
        """Let Keras build its train steps anew where they may have been built without the hooks."""
        models = [self._target.model] if self._target.model is not None else []
        if not adapter.models:
            models += _compat.models_compiled_with(adapter.optimizer, holders)
        for model in models:
            if model not in adapter.models:
                adapter.models.add(model)
                if _compat.fixed_train_step(model) not in adapter.fixed_steps:
                    self._remake_train_step(model)

    def _remake_train_step(self, model: Any) -> None:
        if self._target.graph is not None and _compat.in_running_fit_of_old_step(model):
            warnings.warn(
                "freeze was called inside a running fit in graph mode, by a Frozen that was not attached before: it acts "
                "from the next fit on. Freeze (fc.FreezeSpec.empty() is enough) before fit to change this."
            )
        left_behind = _compat.forget_train_step(model)
        for held in self._target.held.values():
            held.ignore_updates(left_behind)

    def step_counter(self) -> Any:
        """The variable that counts the steps: an optimizer's own, else that of a TF1 graph; None where there is none."""
        for adapter in self.adapters:
            counter = _compat.step_variable(adapter.optimizer)
            if counter is not None:
                return counter
        return None if self._target.graph is None else _compat.v1().train.get_global_step(self._target.graph)

    # Steps that did not pass through the hook -------------------------------------------------------------------------

    def see_steps(self) -> None:
        """Count steps from here on."""
        for adapter in self.adapters:
            self._seen[adapter] = adapter.steps()

    def uncounted_steps(self) -> Dict[str, int]:
        """Optimizer -> steps that its own counter has and its hook has not (or the counter was set: it looks the same)."""
        uncounted = {}
        for adapter in self.adapters:
            taken, counted = adapter.steps()
            taken_before, counted_before = self._seen[adapter]
            missed = (taken - taken_before) - (counted - counted_before)
            if missed > 0:
                uncounted[type(adapter.optimizer).__name__] = missed
        return uncounted

    def inner_steps(self) -> List[str]:
        """What to say of steps that an unattached wrapper took by calling the attached optimizer inside it."""
        return [
            "{0} calls {1}, and {1} is what the freeze is attached to: a NaN in the gradient of a frozen element makes {0} "
            "skip a step. Call frozen.attach() with the {0}, and make a tf.function that was traced before anew".format(
                caller, type(adapter.optimizer).__name__
            )
            for adapter in self.adapters
            for caller in adapter.unattached_callers()
        ]

    def warn_of_inner_steps(self) -> None:
        for text in self.inner_steps():
            warnings.warn(text)

    def may_be_bypassed(self) -> bool:
        """True where an element that moved was moved by a step that the hook did not see, as far as can be told."""
        if self.by_hand or self._target.graph is not None:
            return False
        if self.uncounted_steps():
            return True
        # tf.train optimizers keep no count of their own: all that is known is whether any step came through.
        return any(
            adapter.steps() == self._seen[adapter] and _compat.optimizer_kind(adapter.optimizer) == "v1"
            for adapter in self.adapters
        )


def _check_holdable(optimizer: Any) -> None:
    if _compat.copies_between_workers(optimizer):
        raise ArgumentError(
            "{} keeps a copy of each weight for all workers, moves it and writes it over the weight: that is not held. "
            "Train with the optimizer inside it, or with SyncReplicasOptimizer".format(type(optimizer).__name__)
        )


_checking: List[Any] = []  # the optimizer that is made anew at the moment


def _check_can_be_made_anew(optimizer: Any) -> None:
    """Raise where the slots of a fresh optimizer could not be found out when elements are frozen or thawed."""
    if _checking:
        return  # a class that attaches a freeze to each new instance would be made anew for ever
    _checking.append(optimizer)
    try:
        _make_anew(optimizer)
    finally:
        _checking.pop()


def _make_anew(optimizer: Any) -> None:
    for one in _compat.optimizers_within(optimizer):
        try:
            if not _compat.is_wrapper(one):  # which has no slots
                _compat.unbuilt_optimizer(one)
        except Exception as error:
            raise ArgumentError(
                "{0} can't be made anew, which tells the slots of a fresh one: {0}.from_config(optimizer.get_config()) "
                "raised {1}: {2}. Give the class a get_config() that its __init__ takes".format(
                    type(one).__name__, type(error).__name__, error
                )
            ) from error
