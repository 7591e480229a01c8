"""What the steps of a TF1 graph read of who is frozen: a state of each session."""

from typing import Any, NamedTuple

import numpy as np

from ... import _compat
from ...element_set import ElementSet

# Up to one frozen element in so many, a step handles those by their positions and leaves the rest of the weight alone.
_FEW = 64


class Frozen(NamedTuple):
    """Tensors that say which elements are frozen.

    Attributes:
        mask: bool, of the weight's shape.
        few: a bool: whether `positions` says the same.
        positions: int64 of rank 1, positions in the flattened weight, in ascending order; empty where they are not few.
    """

    mask: Any
    few: Any
    positions: Any


class SessionMask:
    """Resource variables in no collection.

    Where a session has not been told of a change they are not initialised, and its steps read constants of the time when
    the graph was built.
    """

    def __init__(self, frozen: ElementSet) -> None:
        tf, v1 = _compat.tensorflow(), _compat.v1()
        with tf.init_scope(), v1.name_scope("freezecompat"):
            nothing, nowhere = tf.fill(frozen.shape, False), tf.zeros([0], tf.int64)
            mask = v1.Variable(nothing, trainable=False, collections=[], use_resource=True, name="mask")
            positions = _compat.variable_of_any_length(nowhere, "positions")
            few = v1.Variable(True, trainable=False, collections=[], use_resource=True, name="few")
            self._variables = Frozen(mask, few, positions)
            self._new = Frozen(
                v1.placeholder(tf.bool, frozen.shape), v1.placeholder(tf.bool, []), v1.placeholder(tf.int64, [None])
            )
            self._assign = tf.group(*[one.assign(new).op for one, new in zip(self._variables, self._new)])
            self._unchanged = Frozen(nothing, tf.constant(True), nowhere)
            self._first = None
            if frozen:
                first = _values(frozen)
                self._first = Frozen(*map(tf.constant, first))
                # The length of a constant can't change, which `forget_first` must.
                self._first_count = tf.constant(len(first.positions))
                self._unchanged = self._first._replace(positions=self._first.positions[: self._first_count])
            self.frozen = self.read()

    def read(self) -> Frozen:
        """The ops that read it."""
        tf, v1 = _compat.tensorflow(), _compat.v1()
        return Frozen(
            *v1.cond(
                self._variables.mask.is_initialized(),
                lambda: [variable.read_value() for variable in self._variables],
                lambda: [tf.identity(tensor) for tensor in self._unchanged],
            )
        )

    def tell(self, session: Any, frozen: ElementSet) -> None:
        """Let the steps of a session read this from now on."""
        session.run(self._assign, dict(zip(self._new, _values(frozen))))

    @property
    def has_first(self) -> bool:
        """True where a session that begins now has elements frozen before it is told."""
        return self._first is not None

    def forget_first(self) -> None:
        """Let sessions that begin from now on start with nothing frozen."""
        assert self._first is not None
        _compat.set_constant(self._first.mask, np.zeros(self._first.mask.shape.as_list(), bool))
        _compat.set_constant(self._first.few, True)
        _compat.set_constant(self._first_count, np.int32(0))
        self._first = None


def _values(frozen: ElementSet) -> Frozen:
    few = frozen.count * _FEW <= frozen.size
    return Frozen(frozen.dense(), np.array(few), frozen.flat() if few else np.zeros(0, np.int64))
