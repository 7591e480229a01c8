"""From what a user calls a target to `Weight` rows, each with the state of its variable."""

import collections.abc
import types
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from .. import _compat
from ..exceptions import ArgumentError, UnbuiltModel
from ..resolve import Weight
from . import keras_tree
from .held import GraphWeight, HeldWeight, held_weight
from .origin import Origin, weights_of
from .unheld import statistics_held, unheld


class Target(NamedTuple):
    """The weights of a target, in its own order, and their states under the same addresses."""

    rows: List[Weight]
    held: Dict[str, HeldWeight]
    model: Any  # the Keras model whose compile() is followed, or None
    origin: Origin
    statistics: FrozenSet[str] = frozenset()  # addresses of what layers write, but the model's train step can hold
    unheld: Mapping[str, str] = types.MappingProxyType({})  # address -> why no freeze can hold that weight

    @property
    def graph(self) -> Any:
        """The TF1 graph of the weights, None in eager mode."""
        first = next(iter(self.held.values()))
        return first.graph if isinstance(first, GraphWeight) else None

    @property
    def waits_for_session(self) -> bool:
        """True in a TF1 graph in which no update is built yet: what is frozen now, sessions find frozen."""
        return self.graph is not None and not any(held.built for held in self.held.values())

    def session(self, session: Any) -> Any:
        """The session to work in: the given one, else the default one, else the one in which Keras trains the model."""
        graph = self.graph
        if graph is None:
            return None
        if session is None:
            session = _compat.v1().get_default_session()
            if session is None or session.graph is not graph:
                session = _compat.keras_session(self.model)
            if session is not None and session.graph is not graph:  # Keras' own, after clear_session()
                return None
        session = _compat.raw_session(session)
        if session is not None and session.graph is not graph:
            raise ArgumentError("session= belongs to another graph than the target's weights")
        return session

    def read(self, address: str, session: Any) -> np.ndarray:
        """The present values of a weight, where they are needed."""
        if session is None and self.graph is not None:
            raise ArgumentError(
                "{}: in a TF1 graph the values of a weight are those of a session: pass session=".format(address)
            )
        try:
            return self.held[address].read(session)
        except _compat.tensorflow().errors.FailedPreconditionError as error:
            raise ArgumentError(
                "{}: the session has no values yet: run the initializer before this".format(address)
            ) from error

    def has_values(self, session: Any) -> bool:
        """False where a session has not initialised or restored its variables yet."""
        try:
            next(iter(self.held.values())).read(session)
        except _compat.tensorflow().errors.FailedPreconditionError:
            return False
        return True


def describe(target: Any) -> Target:
    """Find the weights of a model, layer, module, list or dict of variables; None is the default graph's trainables."""
    _check_backend()
    if target is None:
        return _of_variables(_of_static_shape(_graph_trainables()))
    kind = _compat.keras_kind(target)
    if kind is not None:
        return _of_layer(target, target if kind == "model" else None)
    if isinstance(target, collections.abc.Mapping):
        return _of_named(target)
    if _compat.is_variable(target):
        raise ArgumentError("the target is one variable; pass a list of variables: [variable]")
    if _compat.is_module(target):
        return _of_variables(_of_static_shape(target.variables))._replace(origin=Origin(target))
    if isinstance(target, (list, tuple)):
        return _of_variables(target)
    raise ArgumentError(
        "can't freeze weights of {!r}: pass a Keras model or layer, a tf.Module, a list of variables or a dict of name "
        "to variable".format(target)
    )


def _check_backend() -> None:
    backend = _compat.keras3_backend()
    if backend not in (None, "tensorflow"):
        raise ArgumentError(
            "Keras runs on {} here; freezecompat needs Keras on TensorFlow: set KERAS_BACKEND=tensorflow before Keras is "
            "imported".format(backend)
        )


def _graph_trainables() -> Sequence[Any]:
    if not _compat.building_v1_graph():
        raise ArgumentError(
            "target=None means the trainable variables of a TF1 graph; in eager mode pass the model or variables"
        )
    variables = _compat.v1().trainable_variables()
    if not variables:
        raise ArgumentError(
            "target=None, but the default graph has no trainable variables yet: freeze after building the model"
        )
    return variables


def _of_layer(layer: Any, model: Any) -> Target:
    weights = weights_of(layer)
    if not weights or not all(map(_compat.is_variable, weights)):
        raise UnbuiltModel(
            "{} {!r} has no weights yet. Build it first: give it an input shape, call it on a batch, or call "
            "build(input_shape)".format(type(layer).__name__, layer.name)
        )
    found: Dict[int, List[keras_tree.Place]] = {}
    for place in keras_tree.places(layer):
        found.setdefault(id(_compat.backend_variable(place.variable)), []).append(place)
    trainable = {id(_compat.backend_variable(v)) for v in layer.trainable_variables}
    spread = [place for spots in found.values() for place in spots]
    statistics = statistics_held(model, spread)
    reasons = unheld(layer, [place for place in spread if place.address not in statistics])
    entries, refused = [], {}
    for variable in _unique(weights):
        if not _compat.has_static_shape(variable):
            continue  # a table that grows: Keras 2's Discretization keeps one
        identity = id(_compat.backend_variable(variable))
        spots = found.get(identity, [])
        aliases = tuple(place.address for place in spots[1:])
        if spots:
            first = spots[0]
            entries.append((first.address, variable, aliases, _meant(first)))
            if identity in reasons:
                refused[first.address] = reasons[identity]
        else:
            entries.append((_plain_name(variable), variable, aliases, {}))
    ordinals = {id(_compat.backend_variable(v)): k for k, v in enumerate(_unique(layer.trainable_variables))}
    return _target(entries, trainable, ordinals, model)._replace(
        origin=Origin(layer, found), statistics=statistics, unheld=refused
    )


def _meant(place: keras_tree.Place) -> Dict[str, Any]:
    """The fields of a row that say what the weight is in its layer."""
    return dict(place.meaning._asdict(), layer=place.layer, role=place.role, outer_units=place.outer_units)


def _of_named(named: Any) -> Target:
    entries: List[Tuple[Any, ...]] = []
    keys: Dict[int, List[str]] = {}
    for key, variable in named.items():
        if not isinstance(key, str) or not _compat.is_variable(variable):
            raise ArgumentError("a dict target maps names to variables, this one has {!r}: {!r}".format(key, variable))
        keys.setdefault(id(_compat.backend_variable(variable)), []).append(key)
    for variable in _unique(named.values()):
        first, *others = keys[id(_compat.backend_variable(variable))]
        entries.append((first, variable, tuple(others), {}))
    return _target(entries, *_numbered([entry[1] for entry in entries]), model=None)


def _of_variables(variables: Any) -> Target:
    for variable in variables:
        if not _compat.is_variable(variable):
            raise ArgumentError("a list target holds variables, this one has {!r}".format(variable))
    variables = _unique(variables)
    names = [_plain_name(variable) for variable in variables]
    trainable, ordinals = _numbered(variables)
    entries = []
    for name, variable in zip(names, variables):
        ordinal = ordinals.get(id(_compat.backend_variable(variable)))
        if names.count(name) > 1:
            # A variable that is not trained has no ordinal: it can be named by the object itself.
            name = "#{}".format(ordinal) if ordinal is not None else "{}~{}".format(name, len(entries))
        entries.append((name, variable, (), {}))
    return _target(entries, trainable, ordinals, model=None)


def _numbered(variables: Sequence[Any]) -> Tuple[set, Dict[int, int]]:
    trainable = [id(_compat.backend_variable(v)) for v in variables if v.trainable]
    return set(trainable), {identity: k for k, identity in enumerate(trainable)}


def _of_static_shape(variables: Iterable[Any]) -> List[Any]:
    return [variable for variable in variables if _compat.has_static_shape(variable)]


def _target(entries: List[Tuple[Any, ...]], trainable: set, ordinals: Dict[int, int], model: Any) -> Target:
    if not entries:
        raise ArgumentError("the target has no variables")
    rows, held = [], {}
    for address, variable, aliases, meant in entries:
        backend = _compat.backend_variable(variable)
        if not _compat.has_static_shape(backend):
            raise ArgumentError(
                "{} has the shape {}: a weight has a fixed number of elements. Leave it out of the target; an optimizer that "
                "also trains it may be attached".format(address, variable.shape)
            )
        handles = (variable,) if backend is variable else (variable, backend)
        state = held_weight(backend)
        rows.append(
            Weight(
                address=address,
                shape=state.shape,
                dtype=state.dtype,
                trainable=id(backend) in trainable,
                name=_compat.native_name(variable),
                ordinal=ordinals.get(id(backend)),
                aliases=aliases,
                handles=handles,
                **meant,
            )
        )
        held[address] = state
    if len({isinstance(state, GraphWeight) for state in held.values()}) > 1:
        raise ArgumentError("the target mixes variables of eager mode and of a TF1 graph: freeze them apart")
    return Target(rows, held, model, Origin())


def _plain_name(variable: Any) -> str:
    return _compat.native_name(variable).split(":")[0]


def _unique(variables: Any) -> List[Any]:
    seen, unique = set(), []
    for variable in variables:
        identity = id(_compat.backend_variable(variable))
        if identity not in seen:
            seen.add(identity)
            unique.append(variable)
    return unique
