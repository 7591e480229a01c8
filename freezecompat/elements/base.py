"""What an element description is, and the set algebra of descriptions."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np

from ..element_set import ElementSet
from ..exceptions import SpecTypeError
from ..resolve import Weight


class Pinned(NamedTuple):
    """Elements of one weight that are set when they are frozen.

    Attributes:
        elements: which.
        values: array (elements.count,) of the weight's dtype, in C order.
    """

    elements: ElementSet
    values: np.ndarray


class Chosen(NamedTuple):
    """What a description selects of one weight, and which of it is set when frozen."""

    elements: ElementSet
    pins: List[Pinned]


class Element:
    """Base of all descriptions; `|`, `&` and `~` combine them, and stay descriptions until weights are there.

    Attributes:
        on_layer: whether a layer's address may stand before it, which names several weights.
        needs_values: whether `select` reads `weight.values`.
        of_one_layer: whether a layer's address must be that of one layer with units.
        has_pins: whether it sets values; such a description has no complement and no intersection.

    Example:
        >>> from freezecompat.elements import all, rows
        >>> rows([0]).on_layer, all().on_layer
        (False, True)
        >>> (rows([0, 1]) & ~rows([1])).select(Weight("embeddings", (3, 2))).flat().tolist()
        [0, 1]
    """

    on_layer = False
    needs_values = False
    of_one_layer = False
    has_pins = False
    __array_ufunc__ = None  # numpy leaves `mask | element` to us

    def reaches(self, weight: Weight) -> bool:
        """Say whether a glob or a layer's address means this weight: the trainable ones."""
        return weight.trainable

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        """Return the elements of one weight; raise if they can't be elements of it.

        Args:
            weight: the row, with values if the description needs them.
            named: False where a glob or a layer's address led to the weight.
        """
        raise NotImplementedError

    def choose(self, weight: Weight, named: bool = True) -> Chosen:
        """Return the elements as `select` does, and those that are set when they are frozen."""
        return Chosen(self.select(weight, named), [])

    def to_json(self) -> Any:
        """Return what stands for it in a spec file."""
        raise NotImplementedError

    def expression(self) -> str:
        """Return Python text for it that an operator can stand beside."""
        return repr(self)

    def __or__(self, other: Any) -> "Element":
        return any_of([self, _read(other)])

    def __ror__(self, other: Any) -> "Element":
        return any_of([_read(other), self])

    def __and__(self, other: Any) -> "Element":
        return all_of([self, _read(other)])

    def __rand__(self, other: Any) -> "Element":
        return all_of([_read(other), self])

    def __invert__(self) -> "Element":
        return Not(without_pins(self, "~"))


@dataclass(frozen=True)
class OfSeveral(Element):
    """Base of what combines several descriptions."""

    parts: Tuple[Element, ...]

    @property
    def needs_values(self) -> bool:  # type: ignore[override]
        return any(part.needs_values for part in self.parts)

    @property
    def of_one_layer(self) -> bool:  # type: ignore[override]
        return any(part.of_one_layer for part in self.parts)

    def expression(self) -> str:
        return "({!r})".format(self)


@dataclass(frozen=True)
class OfOne(Element):
    """Base of what is about one other description."""

    part: Element

    @property
    def on_layer(self) -> bool:  # type: ignore[override]
        return self.part.on_layer

    @property
    def needs_values(self) -> bool:  # type: ignore[override]
        return self.part.needs_values

    @property
    def of_one_layer(self) -> bool:  # type: ignore[override]
        return self.part.of_one_layer

    def reaches(self, weight: Weight) -> bool:
        return self.part.reaches(weight)


@dataclass(frozen=True)
class AnyOf(OfSeveral):
    """The union of several descriptions; made by `a | b`.

    Example:
        >>> from freezecompat.elements import rows
        >>> rows([0]) | (2, 1)
        rows([0]) | positions((2, 1))
    """

    @property
    def on_layer(self) -> bool:  # type: ignore[override]
        return all(part.on_layer for part in self.parts)

    @property
    def has_pins(self) -> bool:  # type: ignore[override]
        return any(part.has_pins for part in self.parts)

    def reaches(self, weight: Weight) -> bool:
        return any(part.reaches(weight) for part in self.parts)

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return self.choose(weight, named).elements

    def choose(self, weight: Weight, named: bool = True) -> Chosen:
        pins: List[Pinned] = []

        def chosen_by_each() -> Iterator[ElementSet]:
            for part in self.parts:
                if named or part.reaches(weight):
                    chosen = part.choose(weight, named)
                    pins.extend(chosen.pins)
                    yield chosen.elements
                    del chosen

        elements = ElementSet.union(weight.shape, chosen_by_each())
        return Chosen(elements, pins)

    def to_json(self) -> Dict[str, Any]:
        return {"any": [part.to_json() for part in self.parts]}

    def __repr__(self) -> str:
        return " | ".join(part.expression() for part in self.parts)


@dataclass(frozen=True)
class AllOf(OfSeveral):
    """What several descriptions have in common; made by `a & b`.

    Example:
        >>> from freezecompat.elements import rows, zeros
        >>> (rows([0]) & zeros()).to_json()
        {'all_of': [{'rows': [0]}, {'zeros': True}]}
    """

    @property
    def on_layer(self) -> bool:  # type: ignore[override]
        return any(part.on_layer for part in self.parts)

    def reaches(self, weight: Weight) -> bool:
        return all(part.reaches(weight) for part in self.parts)

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        chosen = self.parts[0].select(weight, named)
        for part in self.parts[1:]:
            chosen = chosen & part.select(weight, named)
        return chosen

    def to_json(self) -> Dict[str, Any]:
        return {"all_of": [part.to_json() for part in self.parts]}

    def __repr__(self) -> str:
        return " & ".join(part.expression() for part in self.parts)


@dataclass(frozen=True)
class Not(OfOne):
    """All other elements of the weight; made by `~a`.

    Example:
        >>> from freezecompat.elements import rows
        >>> ~rows([0])
        ~rows([0])
    """

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return ~self.part.select(weight, named)

    def to_json(self) -> Dict[str, Any]:
        return {"not": self.part.to_json()}

    def __repr__(self) -> str:
        return "~" + self.part.expression()


def without_pins(element: Element, sign: str) -> Element:
    """Return an element that has no pin in it; a pin sets values, and has no complement or intersection."""
    if element.has_pins:
        raise SpecTypeError(
            "a pin sets the values of its elements, and {} of it has no meaning: combine the elements inside, as in "
            "pin(a & ~b, 0.0)".format(sign)
        )
    return element


def any_of(parts: Sequence[Element]) -> Element:
    """Return the union of several descriptions.

    Example:
        >>> from freezecompat.elements import rows
        >>> any_of([rows([0]), rows([2])])
        rows([0]) | rows([2])
    """
    return AnyOf(_flattened(AnyOf, parts))


def all_of(parts: Sequence[Element]) -> Element:
    """Return what several descriptions have in common.

    Raises:
        SpecTypeError: one of them is a pin.

    Example:
        >>> from freezecompat.elements import rows
        >>> all_of([rows([0]), rows([2])])
        rows([0]) & rows([2])
    """
    return AllOf(_flattened(AllOf, [without_pins(part, "&") for part in parts]))


def _flattened(cls: Any, parts: Sequence[Element]) -> Tuple[Element, ...]:
    return tuple(inner for part in parts for inner in (part.parts if isinstance(part, cls) else (part,)))


def _read(value: Any) -> Element:
    from .reading import parse  # not above: what it reads are Elements

    return parse(value)
