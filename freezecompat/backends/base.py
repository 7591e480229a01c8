"""The hook on an optimizer instance, and the adapter's interface: select, step, correct.

No class is touched: a hook is a callable object in the `__dict__` of one instance, where it stands before the method of the
class, and `uninstall` takes it away again.
"""

import contextlib
import functools
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from .. import _compat
from ..element_set import ElementSet
from .held import GraphWeight, HeldWeight, held_weight
from .selected_writes import SelectedWrites, writes_pass
from .weak_table import WeakTable
from .writes import Write, writes

Pair = Tuple[Any, Any]


class Hook:
    """Stands in for one method of one instance; in a copy or a pickle it is that method again, free of us."""

    def __init__(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        self.owner = owner
        self.name = name
        self.replaced = vars(owner).get(name)  # what another library may have put there
        self.original = getattr(owner, name)
        self.around: Optional[Callable[..., Any]] = around
        self.__doc__ = self.original.__doc__
        self.__name__ = name
        self.__wrapped__ = self.original  # inspect.signature follows it
        vars(owner)[name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.around is None:
            return self.original(*args, **kwargs)
        if _compat.tensorflow().executing_eagerly():
            return self.around(self.original, *args, **kwargs)
        return _compat.without_autograph(self.around)(self.original, *args, **kwargs)

    def uninstall(self) -> None:
        """Undo; where another hook was put over this one since, this one only passes calls on until that goes too."""
        self.around = None
        if vars(self.owner).get(self.name) is not self:
            return
        below = self.replaced
        while isinstance(below, Hook) and below.around is None:
            below = below.replaced
        if below is None:
            del vars(self.owner)[self.name]
        else:
            vars(self.owner)[self.name] = below

    def __deepcopy__(self, memo: Dict[int, Any]) -> Any:
        copied = memo.get(id(self.owner))
        return self if copied is None else getattr(type(copied), self.name).__get__(copied)

    def __reduce__(self) -> Any:
        return getattr, (self.owner, self.name)


class StepCount:
    """Steps of one optimizer that went through its hook, counted where the steps run: in traced functions too.

    It lives as long as the optimizer, since a traced function goes on counting after a release.
    """

    def __init__(self, optimizer: Any) -> None:
        self._variable: Any = None

    def add(self, steps: Any) -> Any:
        tf = _compat.tensorflow()
        if self._variable is None:
            with tf.init_scope():
                self._variable = tf.Variable(0, trainable=False, dtype=tf.int64)
        return self._variable.assign_add(tf.cast(steps, tf.int64))

    def read(self) -> int:
        return 0 if self._variable is None else int(self._variable.numpy())


_step_counts = WeakTable()
_fixed_steps = WeakTable()
_known_to_pass = WeakTable()


def hooked_by(instance: Any, kind: type) -> Any:
    """The object of this kind whose methods are hooks on the instance now: an optimizer's `Adapter`; None where there is none."""
    for value in vars(instance).values():
        owner = getattr(value.around, "__self__", None) if isinstance(value, Hook) else None
        if isinstance(owner, kind):
            return owner
    return None


class Adapter:
    """One attached optimizer. A subclass says which methods a step passes through and how to call the phases there.

    A step is `select` on the gradients, the optimizer's own step, and `correct`, which writes the held values over what
    the step left. An optimizer whose step leaves a frozen element alone needs no correction.
    """

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.owners: List[Any] = []  # the Frozens that are attached: they live as long as the hook does
        self.models: Any = weakref.WeakSet()  # whose train step has been made with the hooks in place
        self._known_to_pass: Dict[Tuple[str, int], bool] = _known_to_pass.get(optimizer, lambda _: {})
        self._callers: Any = weakref.WeakSet()  # loss scalers from inside which a step came
        self.count: StepCount = _step_counts.get(optimizer, StepCount)
        # Of models, built with hooks of this optimizer in place: their ops read our masks after a release too.
        self.fixed_steps: Any = _fixed_steps.get(optimizer, lambda _: weakref.WeakSet())
        self._hooks = [Hook(optimizer, name, around) for name, around in self.methods().items()]

    def methods(self) -> Dict[str, Callable[..., Any]]:
        """Name of a method of the optimizer -> what is called in its place, with the original first."""
        raise NotImplementedError

    def uninstall(self) -> None:
        for model in self.models:
            step = _compat.fixed_train_step(model)
            if step is not None and _compat.stepping_optimizer(model.optimizer) is self.optimizer:
                self.fixed_steps.add(step)
        for hook in self._hooks:
            hook.uninstall()

    @staticmethod
    def leaves_to_the_original(pairs: Sequence[Pair]) -> bool:
        """True where something is no variable: the optimizer says so in its own words."""
        return not all(_compat.is_variable(variable) for _, variable in pairs)

    def known_variables(self) -> Iterable[Any]:
        """Variables that a step may write although it is given no gradient of them."""
        return ()

    def steps(self) -> Tuple[int, int]:
        """Steps that the optimizer has taken (0 where it keeps no count), and steps that passed through the hook."""
        if not self.counts_steps():
            return 0, 0
        variable = _compat.step_variable(self.optimizer)
        if variable is not None and _compat.graph_of(variable) is not None:
            return 0, 0
        with _compat.init_scope():
            return 0 if variable is None else int(variable.numpy()), self.count.read()

    def unattached_callers(self) -> List[str]:
        """The loss scalers that called this optimizer and are not attached: a frozen NaN makes those skip a step."""
        return sorted(type(caller).__name__ for caller in self._callers if hooked_by(caller, Adapter) is None)

    def counts_steps(self) -> bool:
        """False in a TF1 graph, where a step that bypasses us is found in the graph itself."""
        return not _compat.building_v1_graph()

    # The phases -------------------------------------------------------------------------------------------------------

    def select(self, pairs: Sequence[Pair]) -> List[Pair]:
        """(gradient, variable) pairs with the gradients selected and the variables unwrapped or not, as they came."""
        return self._changed(pairs, HeldWeight.select)

    def select_for_step(self, pairs: Sequence[Pair]) -> List[Pair]:
        """The same for pairs that nothing but the optimizer's own step gets."""
        return self._changed(pairs, HeldWeight.select_for_step)

    def _changed(self, pairs: Sequence[Pair], change: Callable[[HeldWeight, Any], Any]) -> List[Pair]:
        return [
            (change(self._held(variable), gradient) if _compat.has_static_shape(variable) else gradient, variable)
            for gradient, variable in pairs
        ]

    def step(self, pairs: Sequence[Pair], run: Callable[[List[Pair]], Any]) -> Any:
        """A whole step: `run` is the optimizer's own, given the selected pairs; its result comes back."""
        pairs = self.select_for_step(pairs)
        with self.holding(pairs) as correct:
            return correct(run(pairs))

    def holding(self, pairs: Sequence[Pair], counted: bool = True) -> "Holding":
        """A context around the optimizer's own step; it gives the phase `correct`."""
        caller = _compat.loss_scaler_that_calls(self.optimizer)
        if caller is not None:
            self._callers.add(caller)
        pairs = [(gradient, variable) for gradient, variable in pairs if _compat.has_static_shape(variable)]
        known = filter(_compat.has_static_shape, self.known_variables())
        variables = {id(variable): variable for variable in [v for _, v in pairs] + list(known)}
        holding = [(variable, self._held(variable)) for variable in variables.values()]
        weights = {id(held): held for _, held in holding}
        constrained = [(variable, held) for variable, held in holding if _compat.has_constraint(variable)]
        gradients = [gradient for gradient, _ in pairs]
        passing = self._passing(weights.values(), pairs) if counted and _compat.tensorflow().executing_eagerly() else []
        return Holding(list(weights.values()), gradients, self if counted else None, constrained, passing)

    def _passing(self, weights: Iterable[HeldWeight], pairs: Sequence[Pair]) -> List[HeldWeight]:
        """The frozen ones among the weights that this optimizer writes through their variables' methods, op by op."""
        sparse = {id(self._held(v)) for g, v in pairs if isinstance(g, _compat.tensorflow().IndexedSlices)}
        return [held for held in weights if held.frozen and id(held) not in sparse and self.writes_pass(held)]

    def writes_pass(self, held: HeldWeight) -> bool:
        """True where an op-by-op step writes this weight in no other way than by its variable's own methods."""
        kind = held.dtype, len(held.shape)
        if kind not in self._known_to_pass:
            self._known_to_pass[kind] = len(_compat.optimizers_within(self.optimizer)) == 1 and writes_pass(
                self.optimizer, held
            )
        return self._known_to_pass[kind]

    def _held(self, variable: Any) -> HeldWeight:
        held = held_weight(_compat.backend_variable(variable))
        held.adapters.add(self)
        return held

    # Slots ------------------------------------------------------------------------------------------------------------

    def reset_slots(self, held: HeldWeight, changed: ElementSet, session: Any = None) -> None:
        """Give the changed elements the slot entries that a fresh optimizer has."""
        for optimizer in _compat.optimizers_within(self.optimizer):
            slots = [
                (name, slot)
                for name, slot in _compat.slot_variables(optimizer, held.variable)
                if tuple(slot.shape) == tuple(held.variable.shape)
            ]
            if slots and not isinstance(held, GraphWeight):
                fresh = dict(_compat.slot_variables(_compat.fresh_optimizer(optimizer, held.variable), held.variable))
                for name, slot in slots:
                    slot.assign(_mixed(changed, fresh[name].numpy(), slot.numpy()))
            elif slots and session is not None:
                for _, slot in slots:
                    _reset_in_session(slot, changed, session)


def _mixed(changed: ElementSet, fresh: np.ndarray, present: np.ndarray) -> np.ndarray:
    return np.where(changed.dense(), fresh, present).astype(present.dtype)


def _reset_in_session(slot: Any, changed: ElementSet, session: Any) -> None:
    # The initializer's own input is fed: no new op, so that a finalized graph will do.
    tf = _compat.tensorflow()
    try:
        present = session.run(slot)
    except tf.errors.FailedPreconditionError:
        return  # not initialised: fresh already
    initial = slot.initializer.inputs[1]
    session.run(slot.initializer, {initial: _mixed(changed, session.run(initial), present)})


class Holding:
    """A step of the given weights, from the snapshot at its start to `correct`, which puts the held values back.

    Where the step writes through the variables' own methods alone, their writes leave frozen elements alone and there is nothing
    to put back. A trace tells afterwards; op by op, the optimizer was asked before.

    Eager mode and tf.function run ops in the order in which they are written. Elsewhere only what the fetched op depends on
    runs, and in any order but that of its dependencies: there `correct` makes the op to run in place of the step's own.
    """

    def __init__(
        self,
        weights: List[HeldWeight],
        gradients: Sequence[Any] = (),
        adapter: Optional[Adapter] = None,
        constrained: Sequence[Tuple[Any, HeldWeight]] = (),
        passing: Sequence[HeldWeight] = (),
    ) -> None:
        """`passing`: the weights that a step op by op is known to write through their variables' own methods."""
        self._eager = _compat.tensorflow().executing_eagerly()
        self._weights = [held for held in weights if held.frozen or not self._eager]
        self._gradients = [gradient for gradient in gradients if gradient is not None]
        self._adapter = adapter  # that counts the step, if it is one
        self._constrained = constrained
        self._by_hand = _compat.order_by_hand()
        selected = [held for held in (passing if self._eager else self._weights) if held.frozen or not self._eager]
        self._selected = {
            id(held): SelectedWrites(held)
            for held in selected
            if not self._by_hand and _compat.has_own_writes(held.variable)
        }
        self._in_place = contextlib.ExitStack()  # what stands in for methods and constraints of variables in the step
        self._done = False

    def __enter__(self) -> Callable[..., Any]:
        # The snapshot waits for the gradients: contrib's AdamW decays a weight as soon as it may, and must not do so before
        # the forward pass has read it.
        corrected = [held for held in self._weights if not (self._eager and id(held) in self._selected)]
        with self._after(self._gradients):
            self._snapshots = [(held, held.snapshot()) for held in corrected]
            self._taken = self._steps_taken()
        before = [snapshot for _, snapshot in self._snapshots] + [self._taken]
        before += [held.keep_first(snapshot) for held, snapshot in self._snapshots]
        self._built_before = len(_compat.ops_built_here())
        self._order = self._after(before + self._gradients)
        self._order.__enter__()
        self._show_held_values_to_constraints()
        for selected in self._selected.values():
            self._in_place.enter_context(selected)
        return self.correct

    def correct(self, result: Any = None, name: Optional[str] = None) -> Any:
        """Put the held values back after `result`, and return what stands for the whole step."""
        self._done = True
        self._in_place.close()
        found = writes(_compat.ops_built_here()[self._built_before :])
        for held in self._weights:
            held.ignore_updates(write.op for written in found.values() for write in written)
        with self._after([result]):
            done = [held.put_back(snapshot) for held, snapshot in self._snapshots if not self._left_alone(held, found)]
            done += self._count()
            return _compat.tensorflow().group(*done, name=name) if self._by_hand else result

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._in_place.close()
        self._order.__exit__(kind, error, trace)
        if kind is not None and not self._done and self._eager:
            self.correct()

    def _left_alone(self, held: HeldWeight, found: Mapping[str, List[Write]]) -> bool:
        selected = self._selected.get(id(held))
        return selected is not None and selected.passed(found)

    def _show_held_values_to_constraints(self) -> None:
        """The optimizer calls them before we correct: what it has moved is not what they are to see."""
        snapshots = {id(held): snapshot for held, snapshot in self._snapshots}
        for variable, held in self._constrained:
            if id(held) in snapshots:
                change = functools.partial(held.corrected, snapshots[id(held)])
                self._in_place.callback(_compat.give_to_constraint(variable, change))

    def _after(self, before: Sequence[Any]) -> Any:
        return _compat.control_dependencies(before if self._by_hand else [])

    def _steps_taken(self) -> Any:
        if self._adapter is None or not self._adapter.counts_steps():
            return None
        variable = _compat.step_variable(self._adapter.optimizer)
        return None if variable is None else variable.read_value()

    def _count(self) -> List[Any]:
        if self._adapter is None or not self._adapter.counts_steps():
            return []
        after = self._steps_taken()
        if after is None:  # a tf.train optimizer: it keeps no count of its own
            return [self._adapter.count.add(1)]
        return [self._adapter.count.add(after if self._taken is None else after - self._taken)]
