"""Elements that the values of a weight decide, or chance: evaluated once, when they are frozen."""

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Union

import numpy as np

from .._show import show
from ..element_set import ElementSet
from ..exceptions import SpecTypeError, SpecValueError
from ..resolve import Weight
from .base import Element
from .predicate import Predicate
from .ranking import lowest, pieces


@dataclass(frozen=True)
class Where(Element):
    """Elements for which an expression over `w` holds; made by `where("abs(w) < 1e-3")`.

    Example:
        >>> where("w > 1").select(Weight("bias", (2,), values=np.array([1.0, 2.0]))).flat().tolist()
        [1]
    """

    text: str

    needs_values = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        return ElementSet(weight.shape, dense=Predicate(self.text).evaluate(_values(weight, self)))

    def to_json(self) -> Dict[str, Any]:
        return {"where": self.text}

    def __repr__(self) -> str:
        return "where({!r})".format(self.text)


@dataclass(frozen=True)
class WhereTrue(Element):
    """Elements for which a function of the weight's values gives True; made by `where(function)`.

    Example:
        >>> where(np.signbit).select(Weight("bias", (2,), values=np.array([-0.0, 0.0]))).flat().tolist()
        [0]
    """

    function: Callable[[np.ndarray], Any]

    needs_values = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        values = _values(weight, self).view()
        values.setflags(write=False)
        try:
            found = self.function(values)
        except Exception as error:
            raise SpecValueError(
                "{!r} raised {}: {}; it is called with the weight's values, an array of shape {}".format(
                    self, type(error).__name__, error, weight.shape
                )
            ) from error
        found = np.asarray(found)
        if found.dtype != bool or found.shape != weight.shape:
            raise SpecTypeError(
                "{!r} returns a bool array of the weight's shape {}, it gave {}".format(self, weight.shape, show(found))
            )
        return ElementSet.from_dense(found)

    def to_json(self) -> Any:
        raise SpecTypeError(
            "a function can't be written to a file; use where('...') with an expression over w, or build_masks and "
            "FreezeSpec of the masks"
        )

    def __repr__(self) -> str:
        return "where(<{}>)".format(getattr(self.function, "__name__", type(self.function).__name__))


@dataclass(frozen=True)
class Zeros(Element):
    """Elements that are 0 now, of either sign, or with `negated` those that are not; made by `zeros` and `nonzero`.

    Example:
        >>> zeros().select(Weight("bias", (3,), values=np.array([-0.0, 1.0, np.nan]))).flat().tolist()
        [0]
    """

    negated: bool = False

    needs_values = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        flat = _values(weight, self).reshape(-1)
        found = np.empty(flat.shape, bool)
        compare = np.not_equal if self.negated else np.equal
        for start, stop in pieces(flat.size):
            compare(flat[start:stop], 0, out=found[start:stop])
        return ElementSet(weight.shape, dense=found.reshape(weight.shape))

    def to_json(self) -> Dict[str, Any]:
        return {"nonzero" if self.negated else "zeros": True}

    def __repr__(self) -> str:
        return "nonzero()" if self.negated else "zeros()"


@dataclass(frozen=True)
class Ranked(Element):
    """The elements of least or greatest magnitude of each weight; made by `smallest` and `largest`.

    Example:
        >>> smallest(0.5).select(Weight("bias", (4,), values=np.array([3.0, -1.0, 1.0, -2.0]))).flat().tolist()
        [1, 2]
    """

    amount: Union[int, float]
    largest: bool = False

    needs_values = True

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        flat = _values(weight, self).reshape(-1)

        def keys(where: Union[slice, np.ndarray]) -> np.ndarray:
            found = _magnitude_bits(flat[where], repr(self))
            return np.invert(found, out=found) if self.largest else found

        found = lowest(keys, flat.size, _count(self.amount, flat.size, repr(self)))
        return ElementSet(weight.shape, dense=found.reshape(weight.shape))

    def to_json(self) -> Dict[str, Any]:
        return {"largest" if self.largest else "smallest": self.amount}

    def __repr__(self) -> str:
        return "{}({!r})".format("largest" if self.largest else "smallest", self.amount)


@dataclass(frozen=True)
class Random(Element):
    """A part of the elements, drawn by a generator of our own; made by `random`.

    Example:
        >>> random(2, seed=7).select(Weight("bias", (5,))).flat().tolist()
        [3, 4]
    """

    amount: Union[int, float]
    seed: int = 0

    def select(self, weight: Weight, named: bool = True) -> ElementSet:
        size = ElementSet.empty(weight.shape).size
        start_of = _scrambled(np.array([self.seed], np.uint64))
        for length in weight.shape:
            start_of = _scrambled(start_of ^ np.uint64(length))

        def keys(where: Union[slice, np.ndarray]) -> np.ndarray:
            flat = np.arange(where.start, where.stop) if isinstance(where, slice) else where
            states = flat.astype(np.uint64)
            states *= _GOLDEN
            states += start_of
            return _scrambled(states)

        found = lowest(keys, size, _count(self.amount, size, repr(self)))
        return ElementSet(weight.shape, dense=found.reshape(weight.shape))

    def to_json(self) -> Dict[str, Any]:
        return {"random": self.amount, "seed": self.seed}

    def __repr__(self) -> str:
        return "random({!r}, seed={})".format(self.amount, self.seed)


def where(predicate: Union[str, Callable[[np.ndarray], Any]]) -> Element:
    """Select by a predicate over the present values, evaluated once, when frozen.

    Args:
        predicate: an expression over `w`, such as "abs(w) < 1e-3"; or a function of the values, an array of the weight's
            shape and dtype, that returns a bool array of that shape. A function can't be written to a file.

    Returns:
        The element description.

    Raises:
        SpecTypeError: neither text nor a function.
        SpecValueError: the text is no arithmetic expression over `w`.

    Example:
        >>> where("abs(w) < 1e-3").to_json()
        {'where': 'abs(w) < 1e-3'}
    """
    if callable(predicate):
        return WhereTrue(predicate)
    return Where(Predicate(predicate).text)


def zeros() -> Zeros:
    """Select what is 0 when frozen, -0.0 included.

    Returns:
        The element description.

    Example:
        >>> zeros()
        zeros()
    """
    return Zeros()


def nonzero() -> Zeros:
    """Select what is not 0 when frozen; NaN is not 0.

    Returns:
        The element description.

    Example:
        >>> nonzero()
        nonzero()
    """
    return Zeros(negated=True)


def smallest(amount: Union[int, float]) -> Ranked:
    """Select the elements of least magnitude, in each weight; ties go to the lower index in C order.

    Args:
        amount: a float from 0 to 1 is a fraction f of the n elements, floor(f n + 0.5) of them; an int is their number.

    Returns:
        The element description.

    Raises:
        SpecTypeError: no number.
        SpecValueError: below 0, or a fraction above 1.

    Example:
        >>> smallest(0.8)
        smallest(0.8)
    """
    return Ranked(_amount(amount, "smallest"))


def largest(amount: Union[int, float]) -> Ranked:
    """Select the elements of greatest magnitude, in each weight; otherwise as `smallest`.

    Args:
        amount: a fraction or a number of elements.

    Returns:
        The element description.

    Raises:
        SpecTypeError, SpecValueError: as `smallest`.

    Example:
        >>> largest(100)
        largest(100)
    """
    return Ranked(_amount(amount, "largest"), largest=True)


def random(amount: Union[int, float], seed: int = 0) -> Random:
    """Select elements by chance: the same ones for a seed and a shape, under every numpy and on every platform.

    Element i has the key splitmix64(s + i * 0x9E3779B97F4A7C15), s a hash of seed and shape; those of the lowest keys are
    taken. Source: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators" (2014).

    Args:
        amount: a fraction or a number of elements, as for `smallest`.
        seed: int from 0 to 2**63 - 1.

    Returns:
        The element description.

    Raises:
        SpecTypeError, SpecValueError: as `smallest`, or `seed` is no such int.

    Example:
        >>> random(0.5).select(Weight("bias", (6,))).flat().tolist()
        [0, 1, 2]
    """
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise SpecTypeError("seed is an int, received {}".format(show(seed)))
    if not 0 <= int(seed) < 2**63:
        raise SpecValueError("seed is an int from 0 to 2**63 - 1, received {}".format(show(int(seed))))
    return Random(_amount(amount, "random"), int(seed))


def _values(weight: Weight, element: Element) -> np.ndarray:
    if weight.values is None:
        raise SpecValueError(
            "{!r} depends on the values of the weight, and they are not known here; pass arrays, or initialise the "
            "variables first".format(element)
        )
    return np.asarray(weight.values)


def _amount(amount: Any, name: str) -> Union[int, float]:
    if isinstance(amount, (bool, np.bool_)) or not isinstance(amount, (int, float, np.integer, np.floating)):
        raise SpecTypeError("{} takes a fraction or a number of elements, received {}".format(name, show(amount)))
    plain = int(amount) if isinstance(amount, (int, np.integer)) else float(amount)
    if isinstance(plain, float) and not 0 < plain <= 1 or isinstance(plain, int) and not 0 < plain < 2**63:
        hint = "; {} elements are an int".format(int(plain)) if isinstance(plain, float) and 1 < plain < 2**63 else ""
        raise SpecValueError(
            "{} takes a fraction above 0 and up to 1, or a number of elements from 1 on, received {}{}".format(
                name, show(amount), hint
            )
        )
    return plain


def _count(amount: Union[int, float], size: int, text: str) -> int:
    if isinstance(amount, float):
        return int(math.floor(amount * size + 0.5))
    if amount > size:
        raise SpecValueError(
            "{} is more than the weight has: {} elements; 'all' is the whole weight".format(text, size)
        )
    return amount


def _magnitude_bits(values: np.ndarray, text: str) -> np.ndarray:
    """Unsigned ints in the order of the magnitudes: the bits of a float without its sign are."""
    if values.dtype.kind == "c":
        values = np.abs(values)
    elif values.dtype.kind in "iub":
        values = np.abs(values.astype(np.float64))
    if values.dtype.name == "bfloat16":
        values = values.astype(np.float32)
    if np.isnan(values).any():
        raise SpecValueError("{} ranks by magnitude, and the weight holds NaN".format(text))
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    unsigned = np.dtype("u{}".format(values.dtype.itemsize))
    return values.view(unsigned) & unsigned.type(2 ** (8 * unsigned.itemsize - 1) - 1)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _scrambled(state: np.ndarray) -> np.ndarray:
    """splitmix64's output for each state; uint64 arithmetic wraps around."""
    mixed = state >> np.uint64(30)  # in place from here on: fresh memory costs more than the arithmetic
    mixed ^= state
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
