"""Every error that freezecompat raises, each with the standard base class that a caller would catch."""

from typing import Any, NamedTuple, Sequence, Tuple


class FreezeCompatError(Exception):
    """Base class of all errors of this package."""


class UnknownWeight(FreezeCompatError, LookupError):
    """An address, ordinal or variable object fits no weight of the target."""


class AmbiguousWeight(FreezeCompatError, LookupError):
    """An address without a wildcard fits several weights."""


class ElementIndexError(FreezeCompatError, IndexError):
    """An index is out of range, or has not as many entries as the weight has axes."""


class SpecTypeError(FreezeCompatError, TypeError):
    """Something in a spec is of a type that selects nothing: a float index, a mask that is not boolean."""


class SpecValueError(FreezeCompatError, ValueError):
    """A spec that can't be read, selects nothing, or holds a mask of the wrong shape."""


class ArgumentError(FreezeCompatError, ValueError):
    """A function was called with a target, session or option that it can't work with."""


class NotAnOptimizer(FreezeCompatError, TypeError):
    """What was given as `optimizer` is no optimizer of a supported kind."""


class UnbuiltModel(FreezeCompatError, ValueError):
    """The model or layer has no weights yet."""


class DoesNotFit(FreezeCompatError, ValueError):
    """A saved freeze and the target have other weights, shapes, dtypes or held values; the text lists them."""


class MissingDependency(FreezeCompatError, ImportError):
    """An optional package is needed for this call; the message names the extra that brings it."""


class NotAttached(FreezeCompatError, RuntimeError):
    """Nothing holds the frozen elements yet: no optimizer is attached."""


class NoReferenceYet(FreezeCompatError, RuntimeError):
    """The session has not shown yet which values the frozen elements had."""


class StaleSession(FreezeCompatError, RuntimeError):
    """The session has not been told of the latest freeze or thaw."""


class PastUnknown(FreezeCompatError, RuntimeError):
    """A training goes on at a step of which a schedule can't know what was frozen there."""


class GraphAlreadyBuilt(FreezeCompatError, RuntimeError):
    """The graph has an update of the weight that was built before the freeze, and can't be reached any more."""


class WeightReplaced(FreezeCompatError, RuntimeError):
    """A frozen weight is no longer what its model trains: its layer or variable was replaced, or adapted, since."""


class Released(FreezeCompatError, RuntimeError):
    """The `Frozen` was released and holds nothing any more."""


class Moved(NamedTuple):
    """One frozen element whose bits differ from the reference of `verify()`."""

    weight: str
    element: Tuple[int, ...]
    before: Any
    now: Any


class FrozenWeightsMoved(FreezeCompatError, AssertionError):
    """At least one frozen element differs from its reference.

    Attributes:
        moved: every element that moved, by address, then in C order.
        weight, element, before, now: the fields of the first of them.
    """

    hint = (
        "If you set the value yourself, frozen.rebase() makes the present values the reference; "
        "otherwise something writes this weight that the freeze does not see."
    )

    def __init__(self, moved: Sequence[Moved]) -> None:
        self.moved = tuple(moved)
        self.weight, self.element, self.before, self.now = self.moved[0]
        super().__init__(self._text())

    def _text(self) -> str:
        index = ", ".join(str(i) for i in self.element)
        others = len(self.moved) - 1
        more = "; {} more element{} moved too".format(others, "" if others == 1 else "s") if others else ""
        return "{}[{}] was {} when frozen and is {} now{}. {}".format(
            self.weight, index, self.before, self.now, more, self.hint
        )

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.moved,)


class StepBypassed(FrozenWeightsMoved):
    """A frozen element moved in a step that did not pass through the freeze."""

    hint = (
        "A step was taken that the freeze does not reach, most likely by a tf.function that was traced before the "
        "optimizer was attached. Freeze (fc.FreezeSpec.empty() is enough) before the first call of that function, or "
        "make the function anew. If you assigned or restored the value yourself, call frozen.rebase()."
    )
