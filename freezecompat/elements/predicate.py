"""Arithmetic expressions over `w`, read by an allow-list over their syntax tree: nothing of a spec is evaluated as code."""

import ast
from typing import Any, Callable, Dict, Tuple, Union

import numpy as np

from .._show import show
from ..exceptions import SpecTypeError, SpecValueError
from .ranking import pieces

_MAX_TEXT = 1000
_MAX_DEPTH = 50
_MAX_EXPONENT = 16

_HINT = (
    "a predicate compares arithmetic over w, such as 'abs(w) < 1e-3' or 'w < 0 and w > -0.5'; it may use + - * / // % **, "
    "comparisons, and, or, not, and "
)

# Only what every numpy rounds alike: the same spec selects the same elements everywhere.
_ARITHMETIC: Dict[type, Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
}
_COMPARISONS: Dict[type, Any] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_CONNECTIVES: Dict[type, Any] = {
    ast.And: np.logical_and,
    ast.BitAnd: np.logical_and,
    ast.Or: np.logical_or,
    ast.BitOr: np.logical_or,
}
_NUMBERS: Dict[str, Tuple[int, Any]] = {
    "abs": (1, np.abs),
    "ceil": (1, np.ceil),
    "floor": (1, np.floor),
    "maximum": (2, np.maximum),
    "minimum": (2, np.minimum),
    "sign": (1, np.sign),
    "sqrt": (1, np.sqrt),
}
_QUESTIONS = {"isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan}
_FUNCTIONS = ", ".join(sorted(list(_NUMBERS) + list(_QUESTIONS)))

# A node gives an array for the values of a piece; a number that does not depend on w stays a float of Python.
_Node = Callable[[np.ndarray], Union[np.ndarray, float]]


class Predicate:
    """An expression over `w`.

    As in numpy, numbers in it take the dtype of the weight, so that `w == 0.1` holds for a float32 that was set to 0.1.
    float16, float32 and float64 are computed as they are, bfloat16 as float32, ints and bools as float64.

    Example:
        >>> Predicate("abs(w) < 0.5").evaluate(np.array([[-1.0, 0.25]])).tolist()
        [[False, True]]
    """

    def __init__(self, text: str) -> None:
        """Read an expression.

        Args:
            text: the expression.

        Raises:
            SpecTypeError: no text.
            SpecValueError: no arithmetic over `w`, or no comparison.
        """
        if not isinstance(text, str):
            raise SpecTypeError("a predicate is text or a function, received {}".format(show(text)))
        self.text = text
        self._evaluate = Reader(text).read()

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """Compute where it holds.

        Args:
            values: array of any shape, of floats, ints, bools or complex numbers.

        Returns:
            Bool array of that shape.

        Raises:
            SpecTypeError: complex numbers are compared by size.
        """
        flat = values.reshape(-1)
        found = np.empty(flat.shape, bool)
        with np.errstate(all="ignore"):
            for start, stop in pieces(flat.size):
                found[start:stop] = self._evaluate(_computable(flat[start:stop]))
        return found.reshape(values.shape)


def _computable(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "fc":
        return values
    return values.astype(np.float32 if values.dtype.name == "bfloat16" else np.float64)


def _error(text: str, reason: str) -> SpecValueError:
    return SpecValueError("{} is no predicate: {}; {}{}".format(show(text), reason, _HINT, _FUNCTIONS))


class Reader:
    """Turns the syntax tree of one expression into functions of the values."""

    def __init__(self, text: str) -> None:
        self._text = text

    def variable(self, name: str) -> _Node:
        """What a name in the text stands for."""
        if name == "w":
            return lambda w: w
        raise self.error("{!r} is unknown, the weight is called w".format(name))

    def error(self, reason: str) -> SpecValueError:
        """The error that says why the text can't be read."""
        return _error(self._text, reason)

    def read(self) -> _Node:
        """The whole text, a node that is True or False."""
        if len(self._text) > _MAX_TEXT:
            raise self.error("it has {} characters, {} are allowed".format(len(self._text), _MAX_TEXT))
        try:
            tree = ast.parse(self._text.strip(), mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise self.error("it can't be read") from error
        return self.truth(tree.body, 0)

    def truth(self, node: ast.AST, depth: int) -> _Node:
        """A node that is True or False."""
        self._check_depth(depth)
        if isinstance(node, ast.Compare):
            return self._comparison(node, depth)
        if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in _CONNECTIVES:
            values = node.values if isinstance(node, ast.BoolOp) else [node.left, node.right]
            return _folded(_CONNECTIVES[type(node.op)], [self.truth(value, depth + 1) for value in values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            inner = self.truth(node.operand, depth + 1)
            return lambda w: np.logical_not(inner(w))
        if self._called(node) in _QUESTIONS:
            ask, number = _QUESTIONS[self._called(node)], self._arguments(node, 1, depth)[0]
            return lambda w: ask(number(w))
        raise self.error("{} is no comparison".format(_what(node)))

    def number(self, node: ast.AST, depth: int) -> _Node:
        """A node that is a number for each element, or one for all."""
        self._check_depth(depth)
        if isinstance(node, ast.Name):
            return self.variable(node.id)
        constant = _constant(node)
        if constant is not None:
            return lambda w: constant
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.number(node.operand, depth + 1)
            return inner if isinstance(node.op, ast.UAdd) else lambda w: -inner(w)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return self._power(node, depth)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left, right = self.number(node.left, depth + 1), self.number(node.right, depth + 1)
            return _of_two(_ARITHMETIC[type(node.op)], left, right)
        if self._called(node) in _NUMBERS:
            count, function = _NUMBERS[self._called(node)]
            arguments = self._arguments(node, count, depth)
            if count == 2:
                return _of_two(function, *arguments)
            return lambda w: _plain(function(arguments[0](w)))
        raise self.error("{} is no arithmetic".format(_what(node)))

    def _comparison(self, node: ast.Compare, depth: int) -> _Node:
        parts = [self.number(part, depth + 1) for part in [node.left] + node.comparators]
        links = []
        for op, left, right in zip(node.ops, parts, parts[1:]):
            if type(op) not in _COMPARISONS:
                raise self.error("'in' and 'is' compare no numbers")
            links.append(_of_two(_COMPARISONS[type(op)], left, right, ordered=not isinstance(op, (ast.Eq, ast.NotEq))))
        return _folded(np.logical_and, links)

    def _power(self, node: ast.BinOp, depth: int) -> _Node:
        base = self.number(node.left, depth + 1)
        exponent = _constant(node.right)
        if exponent is None or exponent != int(exponent) or not 1 <= exponent <= _MAX_EXPONENT:
            raise self.error("an exponent is an int from 1 to {}".format(_MAX_EXPONENT))

        def power(w: np.ndarray) -> Any:
            value = base(w)
            result = value
            for _ in range(int(exponent) - 1):  # numpy's power rounds differently from version to version
                result = result * value
            return result

        return power

    def _called(self, node: ast.AST) -> str:
        return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""

    def _arguments(self, node: Any, count: int, depth: int) -> Any:
        if node.keywords or len(node.args) != count or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise self.error("{} takes {} number{}".format(node.func.id, count, "" if count == 1 else "s"))
        return [self.number(argument, depth + 1) for argument in node.args]

    def _check_depth(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self.error("it is nested more than {} deep".format(_MAX_DEPTH))


def _constant(node: ast.AST) -> Any:
    """The float that a number in the text stands for, None for all else."""
    # Up to Python 3.7 it is a Num.
    value = node.n if type(node).__name__ == "Num" else getattr(node, "value", None)  # type: ignore[attr-defined]
    if type(node).__name__ not in ("Num", "Constant") or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _of_two(function: Any, left: _Node, right: _Node, ordered: bool = False) -> _Node:
    def of_two(w: np.ndarray) -> Any:
        a, b = left(w), right(w)
        if ordered and any(isinstance(value, np.ndarray) and value.dtype.kind == "c" for value in (a, b)):
            raise SpecTypeError("complex numbers have no order; compare abs(w)")
        if isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            b = a.dtype.type(b)
        elif isinstance(b, np.ndarray) and not isinstance(a, np.ndarray):
            a = b.dtype.type(a)
        return _plain(function(a, b))

    return of_two


def _folded(function: Any, parts: Any) -> _Node:
    def folded(w: np.ndarray) -> Any:
        result = parts[0](w)
        for part in parts[1:]:
            result = function(result, part(w))
        return result

    return folded


def _plain(value: Any) -> Any:
    """numpy's scalars as Python's: they are constants still."""
    return value if isinstance(value, np.ndarray) else value.item()


def _what(node: ast.AST) -> str:
    name = getattr(getattr(node, "func", None), "id", None)
    return "{}()".format(name) if name else "a {}".format(type(node).__name__)
