"""Writes in which a frozen element keeps its value: where they can be had, a step never writes a moved one."""

from typing import Any, Callable, Dict, List, Mapping, Set, Tuple

from .. import _compat
from .held import HeldWeight
from .writes import Write, writes

_METHODS = ("assign", "assign_add", "assign_sub")


class SelectedWrites:
    """While it is entered, what a variable's own methods assign to it leaves its frozen elements alone.

    That is how Keras since 2.11 writes. An optimizer with a kernel of its own (`ResourceApplyAdam`) or one that scatters rows
    writes in another way: `passed` tells.
    """

    def __init__(self, held: HeldWeight) -> None:
        self._held = held
        self._originals: Dict[str, Any] = {}
        self._covered: Dict[str, Any] = {}  # the same of another step around this one
        self._made: Set[Tuple[int, str]] = set()

    def __enter__(self) -> "SelectedWrites":
        attributes = vars(self._held.variable)
        for name in _METHODS:
            self._covered[name] = attributes.get(name)
            self._originals[name] = getattr(self._held.variable, name)
        for name in _METHODS:
            attributes[name] = getattr(self, "_" + name)
        return self

    def __exit__(self, *exception: Any) -> None:
        attributes = vars(self._held.variable)
        for name, covered in self._covered.items():
            if covered is None:
                del attributes[name]
            else:
                attributes[name] = covered

    def passed(self, found: Mapping[str, List[Write]]) -> bool:
        """True where these writes of a function that was just traced hold none of the variable but what was made here."""
        written = found.get(_compat.handle_here(self._held.variable).op.name, ())
        return all((id(write.op.graph), write.op.name) in self._made for write in written)

    def _assign(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._write("assign", value, lambda present, given: given, args, kwargs)

    def _assign_add(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        return self._write("assign_add", delta, lambda present, given: present + given, args, kwargs)

    def _assign_sub(self, delta: Any, *args: Any, **kwargs: Any) -> Any:
        return self._write("assign_sub", delta, lambda present, given: present - given, args, kwargs)

    def _write(self, name: str, given: Any, combine: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        tensor = self._fitting(given)
        if tensor is None:
            return self._originals[name](given, *args, **kwargs)
        # Read once what is given is there, or TensorFlow makes one addition of a + (b + c), which rounds in another way.
        with _compat.control_dependencies([tensor]):
            present = self._held.variable.read_value()
        value = _compat.select(self._held.mask(), present, combine(present, tensor))
        result = self._originals["assign"](value, *args, **kwargs)
        if not _compat.tensorflow().executing_eagerly():
            operation = getattr(result, "op", result)
            self._made.add((id(operation.graph), operation.name))
        return result

    def _fitting(self, given: Any) -> Any:
        """What is given as a tensor, or None where the variable's own method is to say what is wrong with it."""
        try:
            tensor = _compat.tensorflow().convert_to_tensor(given, dtype=self._held.variable.dtype)
        except (TypeError, ValueError):
            return None
        return tensor if tensor.shape.ndims is not None and tuple(tensor.shape) == self._held.shape else None


def writes_pass(optimizer: Any, held: HeldWeight) -> bool:
    """True where a step of this optimizer writes a weight of this kind in no other way than by its variable's methods.

    Found by tracing a step of a fresh optimizer, with a small weight of the same rank and dtype.
    """
    tf = _compat.tensorflow()
    variable = tf.Variable(tf.zeros([min(size, 2) for size in held.shape], held.dtype))
    probe = type(held)(variable)
    probe.mask()  # makes its variable here, and not in the trace
    passed = []

    def step() -> None:
        with SelectedWrites(probe) as selected:
            fresh.apply_gradients([(tf.ones_like(variable), variable)])
        passed.append(selected.passed(writes(_compat.ops_built_here())))

    try:
        fresh = _compat.fresh_optimizer(optimizer, variable)
        tf.function(step, autograph=False).get_concrete_function()
    except Exception:  # a class that can't be made anew, or has no trace: its steps are corrected
        return False
    return bool(passed) and all(passed)  # TensorFlow may trace twice
