"""What the steps of a TF1 graph read of who is frozen: a state of each session."""

import contextlib
from typing import Any, Iterator, List

import numpy as np

from ... import _compat
from ...element_set import ElementSet

# Up to one frozen element in so many, a step handles those by their positions.
_FEW = 64


class SessionMask:
    """A resource variable in no collection, with the mask of a weight.

    Where a session has not been told of a change it is not initialised, and the session's steps read a constant of the
    time when the graph was built.
    """

    def __init__(self, frozen: ElementSet) -> None:
        tf, v1 = _compat.tensorflow(), _compat.v1()
        with tf.init_scope(), v1.name_scope("freezecompat"):
            self._variables = self._made(frozen)
            self._told = [v1.placeholder(one.dtype.base_dtype, one.shape) for one in self._variables]
            self._tell = tf.group(*[one.assign(told).op for one, told in zip(self._variables, self._told)])
            self._first = [tf.constant(value) for value in self._values(frozen)] if frozen else []
            self._until_told = self._first or [one.initial_value for one in self._variables]
            self._now = self._read()

    def _made(self, frozen: ElementSet) -> List[Any]:
        """The variables, initially with nothing frozen."""
        return [_compat.variable_in_no_collection(_compat.zeros(frozen.shape, bool), "mask")]

    def _values(self, frozen: ElementSet) -> List[Any]:
        """What they hold."""
        return [frozen.dense()]

    def _read(self) -> List[Any]:
        tf, v1 = _compat.tensorflow(), _compat.v1()
        return v1.cond(
            self._variables[0].is_initialized(),
            lambda: [variable.read_value() for variable in self._variables],
            lambda: [tf.identity(tensor) for tensor in self._until_told],
            strict=True,
        )

    @property
    def mask(self) -> Any:
        """A bool tensor of the weight's shape, True = frozen."""
        return self._now[0]

    @contextlib.contextmanager
    def read_after(self, tensor: Any) -> Iterator[None]:
        """In this context it is read once a tensor is there, which a run may wait for."""
        shared = self._now
        with _compat.control_dependencies([tensor]):
            self._now = self._read()
        try:
            yield
        finally:
            self._now = shared

    def tell(self, session: Any, frozen: ElementSet) -> None:
        """Let the steps of a session know what is frozen from now on."""
        session.run(self._tell, dict(zip(self._told, self._values(frozen))))

    @property
    def has_first(self) -> bool:
        """True where a session that begins now has elements frozen before it is told."""
        return bool(self._first)

    def forget_first(self) -> None:
        """Let sessions that begin from now on start with nothing frozen."""
        for constant in self._first:
            if constant.dtype.is_bool:
                _compat.set_constant(constant, np.zeros(constant.shape.as_list(), bool))
        self._first = []


class ListedMask(SessionMask):
    """The same with the frozen positions beside it, where they are few."""

    def _made(self, frozen: ElementSet) -> List[Any]:
        true = _compat.once(("true",), lambda: _compat.tensorflow().constant(True))
        few = _compat.variable_in_no_collection(true, "few")
        return super()._made(frozen) + [few, _compat.variable_of_any_length("int64", "positions")]

    def _values(self, frozen: ElementSet) -> List[Any]:
        few = frozen.count * _FEW <= frozen.size
        return super()._values(frozen) + [np.array(few), frozen.flat() if few else np.zeros(0, np.int64)]

    @property
    def few(self) -> Any:
        """A bool, True where `positions` says what the mask says."""
        return self._now[1]

    @property
    def positions(self) -> Any:
        """Positions in the flattened weight, int64, in ascending order."""
        return self._now[2]
