"""`Frozen`: the elements that one call of `freeze` holds, and everything that can be done with them."""

import contextlib
import functools
import types
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence

import numpy as np

from . import _compat, plots
from ._frozen_file import SavedFreeze, saved_weight, write
from ._version import __version__
from .backends.attachments import Attachments, optimizers_in
from .backends.averages import set_averages
from .backends.base import Holding
from .backends.by_hand import hold_after
from .backends.held import held_weight
from .backends.references import References
from .backends.slots import slots_kept
from .backends.targets import Target
from .backends.writes import writes
from .element_set import ElementSet
from .elements import Pinned
from .exceptions import (
    ArgumentError,
    FrozenWeightsMoved,
    GraphAlreadyBuilt,
    Moved,
    NoReferenceYet,
    NotAnOptimizer,
    NotAttached,
    Released,
    SpecTypeError,
    StaleSession,
    StepBypassed,
    WeightReplaced,
)
from .masks import Selection, build
from .report import Report, ReportRow
from .schedule.acted_on import ActedOn
from .spec import FreezeSpec


class Frozen(ActedOn):
    """Elements of a target's weights, held bit for bit while the rest trains. Made by `freezecompat.freeze`.

    Each Frozen owns a set of elements. An element is frozen, under every optimizer that some live Frozen is attached to,
    as long as any live Frozen owns it. As a context manager it is released at the end.

    `session`, wherever it is taken, matters for a TF1 graph only, and is the default session where none is given.
    """

    def __init__(
        self,
        target: Target,
        spec: FreezeSpec,
        optimizers: Sequence[Any],
        session: Any = None,
        slots_are_right: bool = False,
    ) -> None:
        """Freeze; where the slots have come from a checkpoint of the same freeze, without touching them."""
        self._target = target
        self._given = spec
        self._own: Dict[str, ElementSet] = {}
        self._released = False
        self._references = References(target)
        self._attachments = Attachments(self, target)
        session = self._session(session)
        selected = self._select(spec, session)
        self._check_reachable(selected.sets)
        self._check_told(selected.sets, session)
        try:
            for optimizer in optimizers:
                self._attachments.attach(optimizer)
            self._attachments.start_following(self._check_in_place)
            with slots_kept(self._target.held.values()) if slots_are_right else contextlib.nullcontext():
                self._change(selected.sets, session, selected.pins)
        except BaseException:
            self._let_go(None)
            raise

    def __repr__(self) -> str:
        if self._released:
            return "<Frozen: released>"
        self._attachments.follow()
        weights = sum(1 for elements in self._own.values() if elements)
        return "<Frozen: {} of {} elements, in {} weight{}; {}>".format(
            self.num_frozen, self.num_elements, weights, "" if weights == 1 else "s", self._attached_text()
        )

    def __enter__(self) -> "Frozen":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.release()
        except Exception:
            if error is None:
                raise

    # What is frozen ---------------------------------------------------------------------------------------------------

    @property
    def masks(self) -> Mapping[str, np.ndarray]:
        """{canonical address: bool array of the weight's shape}, True = frozen by this Frozen; read-only, in weight order."""
        owned = [row.address for row in self._target.rows if self._own.get(row.address)]
        return types.MappingProxyType({address: self._own[address].dense() for address in owned})

    @property
    def num_frozen(self) -> int:
        """Elements that this Frozen owns."""
        return sum(elements.count for elements in self._own.values())

    @property
    def num_elements(self) -> int:
        """Elements of all trainable weights of the target, and of any other weight that the spec names."""
        counted = [row.address for row in self._target.rows if row.trainable or row.address in self._own]
        return sum(self._target.held[address].frozen.size for address in counted)

    @property
    def num_free(self) -> int:
        """Elements among `num_elements` that this Frozen does not own."""
        return self.num_elements - self.num_frozen

    def freeze(self, spec: Any, session: Any = None) -> "Frozen":
        """Freeze more elements, from the next step on.

        Args:
            spec: what `FreezeSpec` takes; the addresses are those of this Frozen's target.
            session: the session to bring up to date.

        Returns:
            This Frozen.

        Raises:
            StepBypassed: a held element has moved in a step that did not pass through the freeze.
            WeightReplaced: a weight, frozen already or now, is not what the model trains any more.
            GraphAlreadyBuilt: the graph has an update of the weight that can't be reached.
            ArgumentError: the graph's ops are built and there is no session to tell.
        """
        self._live()
        session = self._session(session)
        selected = self._select(spec, session)
        self._check_reachable(selected.sets)
        self._check_in_place(selected.sets)
        self._check_told(selected.sets, session)
        if self._attachments.may_be_bypassed():
            moved = self._moved(session)
            if moved:
                raise StepBypassed(moved)
        self._attachments.warn_of_inner_steps()
        wanted = {address: self._owned(address) | elements for address, elements in selected.sets.items()}
        self._change(wanted, session, selected.pins)
        return self

    def thaw(self, spec: Any = None, session: Any = None) -> "Frozen":
        """Let some or all elements that this Frozen owns train, from the next step on.

        Args:
            spec: what `FreezeSpec` takes; what is not frozen stays as it is. None: all.
            session: the session to bring up to date; without one the change is recorded, and sessions are stale.

        Returns:
            This Frozen.
        """
        self._live()
        session = self._session(session)
        removed = dict(self._own) if spec is None else self._select(spec, session).sets
        self._change({address: self._owned(address) - elements for address, elements in removed.items()}, session)
        return self

    def release(self, session: Any = None) -> None:
        """Let everything go and leave optimizers and model as they were before. Idempotent."""
        session = self._session(session)
        if self._released:
            self._bring(session)
        else:
            self._let_go(session)

    def _let_go(self, session: Any) -> None:
        for address, own in self._own.items():
            self._target.held[address].own(self, ElementSet.empty(own.shape))
        self._own = {}
        self._released = True
        try:
            self._bring(session)
        finally:
            self._attachments.leave_all()
            for held in self._target.held.values():
                held.forget_first_mask()

    def _select(self, spec: Any, session: Any, may_be_empty: bool = False) -> Selection:
        if isinstance(spec, Selection):
            return spec
        read = functools.partial(self._target.read, session=session)
        return build(FreezeSpec(spec), self._target.rows, read, may_be_empty)

    def _owned(self, address: str) -> ElementSet:
        return self._own.get(address, ElementSet.empty(self._target.held[address].shape))

    def _check_reachable(self, addresses: Iterable[str]) -> None:
        """Raise, before anything is changed, where a weight is written by what does not read its mask."""
        for address in addresses:
            if address in self._target.unheld:
                raise ArgumentError("{}: {}".format(address, self._target.unheld[address]))
        if self._target.graph is None:
            return
        found = writes(self._target.graph.get_operations())
        remade = set(_compat.train_step_ops(self._target.model))
        for address in addresses:
            missed = self._target.held[address].missed_updates(found, remade)
            if missed:
                raise GraphAlreadyBuilt(
                    "{}: the graph has an update of this weight already ({}), built by an optimizer that was not attached. "
                    "Freeze before minimize() or apply_gradients(): fc.FreezeSpec.empty() is enough, elements can follow "
                    "at any time.".format(address, missed[0].name)
                )

    def _check_in_place(self, more: Iterable[str] = ()) -> None:
        """Raise where a weight, frozen already or named here, is not what the target trains any more."""
        for address, why in self._replaced(more).items():
            raise WeightReplaced(
                "{}: {}. Call release() on the Frozen that fc.freeze returned, and freeze again after the change; "
                "thaw({!r}) gives up this weight alone".format(address, why, {address: "all"})
            )

    def _replaced(self, more: Iterable[str] = ()) -> Dict[str, str]:
        looked_at = self._frozen_addresses() + list(more)
        return self._target.origin.replaced({address: self._target.held[address] for address in looked_at})

    def _check_told(self, addresses: Iterable[str], session: Any) -> None:
        for address in addresses:
            if session is None and self._target.held[address].built:
                raise ArgumentError(
                    "{}: the graph's update is built, so that a freeze is a state of each session: pass session=".format(
                        address
                    )
                )

    def _change(
        self, wanted: Mapping[str, ElementSet], session: Any, pins: Mapping[str, Pinned] = types.MappingProxyType({})
    ) -> None:
        for address, pinned in pins.items():  # all that can be wrong, before anything is changed
            self._target.held[address].check_pins(pinned)
            self._target.read(address, session)
        for address, pinned in pins.items():
            self._target.held[address].pin(self, pinned, session)
        added = {address: elements - self._owned(address) for address, elements in wanted.items()}
        for address, pinned in pins.items():
            added[address] = added[address] | pinned.elements
        self._references.take(session, {address: elements for address, elements in added.items() if elements})
        for address, elements in wanted.items():
            self._references.drop(address, self._owned(address) - elements)
            self._own[address] = elements
            self._target.held[address].own(self, elements)
        self._attachments.hold_statistics([address for address, elements in wanted.items() if elements])
        self._bring(session)

    # What holds it ----------------------------------------------------------------------------------------------------

    def attach(self, optimizer: Any) -> "Frozen":
        """Let an optimizer, or a list of them, leave the frozen elements alone.

        Args:
            optimizer: a `tf.train` or Keras optimizer, or a wrapper around one: the one that the training calls.

        Returns:
            This Frozen.

        Raises:
            NotAnOptimizer: it is no optimizer.
            WeightReplaced: a frozen weight is not what the model trains any more.
            GraphAlreadyBuilt: the graph has an update of a frozen weight already that can't be reached.
        """
        self._live()
        optimizers = optimizers_in(optimizer)
        if not optimizers:
            raise NotAnOptimizer("attach needs an optimizer or a list of them, received {!r}".format(optimizer))
        self._check_in_place()
        self._check_reachable(self._frozen_addresses())
        for one in optimizers:
            self._attachments.attach(one)
        return self

    def detach(self, optimizer: Any) -> "Frozen":
        """Leave an optimizer as it was before `attach`; what another Frozen holds under it stays held.

        Steps that were traced or built while it was attached go on holding the elements that are frozen: thaw them, or
        trace the step anew.

        Raises:
            ArgumentError: this Frozen is not attached to it.
        """
        self._live()
        for one in optimizers_in(optimizer):
            self._attachments.detach(one)
        return self

    @contextlib.contextmanager
    def hold(self) -> Iterator["Frozen"]:
        """Hold the frozen elements around one hand-written update, in eager mode or in a tf.function.

        Example (with TensorFlow):
            with frozen.hold():
                kernel.assign_sub(0.1 * gradient)

        Raises:
            ArgumentError: in a TF1 graph; use `hold_after` there.
            WeightReplaced: a frozen weight is not what the model trains any more.
        """
        self._live()
        if self._target.graph is not None:
            raise ArgumentError("hold() is for eager mode and tf.function; in a TF1 graph run hold_after(train_op)")
        self._check_in_place()
        self._attachments.by_hand = True
        with Holding(list(self._target.held.values())) as correct:
            yield self
            correct()

    def hold_after(self, train_op: Any) -> Any:
        """Make the op to run instead of a hand-written `train_op`, in a TF1 graph and before its first Session.run.

        Args:
            train_op: operation, tensor or variable whose run makes the update.

        Returns:
            A tf.Operation: the update, after which the frozen elements hold what they held before it.

        Raises:
            ArgumentError: in eager mode, or `train_op` writes none of the target's weights.
            GraphAlreadyBuilt: a session has run already, and would ignore the order in silence.
        """
        self._live()
        if self._target.graph is None:
            raise ArgumentError(
                "hold_after() is for a TF1 graph; in eager mode and tf.function use `with frozen.hold():`"
            )
        held = hold_after(train_op, self._target.held.values())
        self._attachments.by_hand = True
        return held

    def mask_gradients(self, grads: Any, variables: Any) -> Any:
        """Select gradients by hand, as is needed before a clipping by hand.

        Args:
            grads: list or tuple of gradients: tensors, IndexedSlices or None.
            variables: the variables that they belong to, in the same order.

        Returns:
            The same container, with exactly 0 in place of what belongs to a frozen element; None and IndexedSlices stay.
        """
        self._live()
        if not isinstance(grads, (list, tuple)):
            raise ArgumentError(
                "grads is a list or tuple of gradients, as tape.gradient gives it; received {!r}".format(grads)
            )
        gradients, variables = list(grads), list(variables)
        if len(gradients) != len(variables):
            raise ArgumentError("{} gradients for {} variables".format(len(gradients), len(variables)))
        for variable in variables:
            if not _compat.is_variable(variable):
                raise ArgumentError("variables holds {!r}, which is no variable".format(variable))
        selected = [
            (
                held_weight(_compat.backend_variable(variable)).select(gradient)
                if _compat.has_static_shape(variable)
                else gradient
            )
            for gradient, variable in zip(gradients, variables)
        ]
        return tuple(selected) if isinstance(grads, tuple) else selected

    def _attached_text(self) -> str:
        names = self._attachments.names
        return "attached to " + ", ".join(names) if names else "NOT ATTACHED"

    # Sessions ---------------------------------------------------------------------------------------------------------

    def sync(self, session: Any = None) -> "Frozen":
        """Bring a session, a second or a recovered one, to the present state. Nothing to do in eager mode."""
        self._live()
        session = self._session(session)
        if self._target.graph is not None:
            session = self._needed(session)
            self._bring(session)
            self._references.take_missing(session, self._own)
        return self

    def session_hook(self) -> Any:
        """Make a SessionRunHook that calls `sync` for each session that is created or recovered."""
        self._live()
        frozen = self

        class SyncHook(_compat.v1().train.SessionRunHook):
            def after_create_session(self, session: Any, coord: Any) -> None:
                if frozen._released:
                    frozen.release(session)
                else:
                    frozen.sync(session)

        return SyncHook()

    def _session(self, session: Any) -> Any:
        return self._target.session(session)

    def _needed(self, session: Any) -> Any:
        if session is None:
            raise ArgumentError("the weights are those of a TF1 graph and there is no default session: pass session=")
        return session

    def _bring(self, session: Any) -> None:
        brought = {held: held.bring(session) for held in self._target.held.values()}
        changed = {held: elements for held, elements in brought.items() if elements}
        if changed:
            set_averages(changed, session)

    # Proof ------------------------------------------------------------------------------------------------------------

    def verify(self, session: Any = None) -> None:
        """Compare every frozen element with its reference, byte by byte.

        Raises:
            FrozenWeightsMoved: some differ; `.moved` has them all.
            StepBypassed: some differ, in a step that did not pass through the freeze.
            NotAttached: nothing holds the elements yet.
            WeightReplaced: a frozen weight is not what the model trains any more.
            NoReferenceYet: in a graph: the session had no values at freeze, and no step has run.
            StaleSession: the session does not know of the latest freeze or thaw.
        """
        self._live()
        if not self._attachments.names:
            raise NotAttached(
                "no optimizer is attached, so that nothing holds the frozen elements: frozen.attach(optimizer), or pass "
                "optimizer= to freeze, or compile the model"
            )
        self._check_in_place()
        session = self._session(session)
        if self._target.graph is not None:
            session = self._needed(session)
            self._check_not_stale(session)
            self._references.take_first(session, self._own)
            missing = self._references.missing(session, self._own)
            if missing:
                raise NoReferenceYet(
                    "{}: this session had no values when the elements were frozen, and has run no step since; "
                    "initialise the variables and train, or call frozen.rebase(session)".format(next(iter(missing)))
                )
        moved = self._moved(session)
        if moved:
            raise (StepBypassed if self._attachments.may_be_bypassed() else FrozenWeightsMoved)(moved)
        self._attachments.warn_of_inner_steps()

    def rebase(self, session: Any = None) -> "Frozen":
        """Make the present values the reference of `verify()`.

        Returns:
            This Frozen.
        """
        self._live()
        session = self._session(session)
        if self._target.graph is not None:
            session = self._needed(session)
        self._bring(session)
        self._references.take(session, {address: self._own[address] for address in self._frozen_addresses()})
        self._attachments.see_steps()
        return self

    def report(self, session: Any = None) -> Report:
        """Describe what is frozen, what holds it and what has moved; changes nothing, raises nothing."""
        self._live()
        session = self._session(session)
        notes = []
        if self._target.graph is not None and session is None:
            notes.append("no session: pass session= to see what has moved")
        moves = self._moves(session)
        rows = []
        for row in self._target.rows:
            if row.trainable or row.address in self._own:
                own = self._owned(row.address)
                moved = moves[row.address]
                count = None if moved is None else moved.count
                rows.append(ReportRow(row.address, row.shape, row.dtype, own.size, own.count, count))
        for name, steps in self._attachments.uncounted_steps().items():
            notes.append(
                "{} has taken {} step{} that the freeze did not see (or its step count was set): a tf.function traced "
                "before the optimizer was attached is not reached".format(name, steps, "" if steps == 1 else "s")
            )
        notes.extend(self._attachments.inner_steps())
        notes.extend("{}: {}".format(address, why) for address, why in self._replaced().items())
        if session is not None and any(held.stale(session) for held in self._target.held.values()):
            notes.append("this session is stale: frozen.sync(session) tells it of the latest freeze or thaw")
        return Report(rows, self._attachments.names, notes)

    def plot(self, path: Any = None, session: Any = None) -> Any:
        """Draw a heat map of each weight with frozen elements, and of what has moved; changes nothing.

        Args:
            path: the .png, .svg or .pdf file to write, replaced if it is there; None: no file.
            session: in a TF1 graph, the session whose values are looked at; without one the masks alone are drawn.

        Returns:
            A matplotlib Figure that pyplot does not know of.

        Raises:
            MissingDependency: matplotlib is not installed.
            ArgumentError: the file can't be written, or its name tells no format.
        """
        self._live()
        moves = self._moves(self._session(session))
        panels = [plots.Panel(row.address, self._owned(row.address), moves[row.address]) for row in self._target.rows]
        return plots.plot(panels, path)

    def save(self, path: Any, session: Any = None) -> None:
        """Write what is frozen, and the values that it holds, to one file, for `freezecompat.restore`.

        It holds masks, held values, addresses, shapes and dtypes, the spec as it was given, and what a schedule has done;
        free elements are not in it. docs/files.md describes it. It is written as a whole or not at all.

        Args:
            path: the file, an .npz archive, replaced if it is there.
            session: in a TF1 graph, the session whose values are saved.

        Raises:
            StaleSession: the session does not know of the latest freeze or thaw.
            WeightReplaced: a frozen weight is not what the model trains any more.
        """
        self._live()
        self._check_in_place()
        session = self._session(session)
        if self._target.graph is not None:
            session = self._needed(session)
            self._check_not_stale(session)
        weights = [
            saved_weight(row, self._own[row.address], self._target.read(row.address, session))
            for row in self._target.rows
            if self._own.get(row.address)
        ]
        try:
            given: Any = self._given.to_json()
        except SpecTypeError:  # a function or a variable object; the masks say what they chose
            given = None
        write(path, SavedFreeze(given, tuple(weights), self.schedule_done()), __version__)

    def _frozen_addresses(self) -> List[str]:
        return [address for address, elements in self._own.items() if elements]

    def _moved(self, session: Any) -> List[Moved]:
        return self._references.moved(session, self._frozen_addresses())

    def _moves(self, session: Any) -> Dict[str, Optional[ElementSet]]:
        """The elements of each weight that have moved; None where there is no reference yet."""
        apart = self._references.apart(session, self._frozen_addresses())
        unknown = self._references.missing(session, self._own)
        return {
            row.address: None if row.address in unknown else apart.get(row.address, ElementSet.empty(row.shape))
            for row in self._target.rows
        }

    def _check_not_stale(self, session: Any) -> None:
        for address in self._own:
            if self._target.held[address].stale(session):
                raise StaleSession(
                    "{}: this session has not been told of the latest freeze or thaw; call frozen.sync(session), or give "
                    "frozen.session_hook() to the training session".format(address)
                )

    def _live(self) -> None:
        if self._released:
            raise Released("this Frozen was released; call fc.freeze again")
        self._attachments.follow()
