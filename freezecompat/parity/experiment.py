"""What a parity experiment is: a small Python file, read and checked without TensorFlow."""

import difflib
import importlib.util
import numbers
import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np

from ..exceptions import ArgumentError
from ..spec import FreezeSpec
from . import optimizers
from .losses import LOSSES

BUILT_IN = ("problem-1", "problem-2")

BUILT_IN_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "experiments")

DEFINES = (
    "an experiment defines build(keras), initial_weights(), data(), SPEC, OPTIMIZER, LOSS, STEPS and TOLERANCE_ULP, "
    "and, if wanted, BATCH_SIZE and TITLE"
)


class Experiment(NamedTuple):
    """One experiment, checked.

    Attributes:
        path: its file.
        title: one line for the table.
        build: function of a Keras that returns a model, built or not.
        initial_weights: arrays in get_weights() order.
        x, y: arrays with the same number of rows.
        spec: the FreezeSpec.
        optimizer: {"name": ..., options}.
        loss: name of a loss, or a function of TensorFlow, y and the prediction.
        steps: optimizer steps.
        batch_size: rows of a batch; the last batch of a round may be smaller.
        tolerance_ulp: how far apart two runs may be.
    """

    path: str
    title: str
    build: Callable[[Any], Any]
    initial_weights: List[np.ndarray]
    x: np.ndarray
    y: np.ndarray
    spec: FreezeSpec
    optimizer: Dict[str, Any]
    loss: Union[str, Callable[[Any, Any, Any], Any]]
    steps: int
    batch_size: int
    tolerance_ulp: int

    def rows(self, step: int) -> slice:
        """The rows of one step: batches in order, from the start again at the end."""
        per_round = -(-len(self.x) // self.batch_size)
        start = step % per_round * self.batch_size
        return slice(start, start + self.batch_size)


def locate(experiment: Union[str, "os.PathLike[str]"]) -> str:
    """The file of an experiment, given by its path or by the name of one that comes with freezecompat.

    Example:
        >>> os.path.basename(locate("problem-1"))
        'problem_1.py'

    Raises:
        ArgumentError: there is no such experiment.
    """
    name = os.fspath(experiment)
    if name in BUILT_IN:
        return os.path.join(BUILT_IN_FOLDER, name.replace("-", "_") + ".py")
    if os.path.isfile(name):
        return os.path.abspath(name)
    if name.endswith(".py") or os.sep in name or os.path.isdir(name):
        raise ArgumentError("there is no experiment file {!r}".format(name))
    close = difflib.get_close_matches(name, BUILT_IN, 1)
    raise ArgumentError(
        "there is no experiment {!r}: give a .py file, or one of {}{}".format(
            name, ", ".join(BUILT_IN), ". Did you mean {!r}?".format(close[0]) if close else ""
        )
    )


def load(path: str) -> Experiment:
    """Run an experiment's file and check what it defines.

    Raises:
        ArgumentError: what is missing or wrong, in one line that names the file.
    """
    try:
        return _checked(path, _Definitions(_execute(path)))
    except ArgumentError as error:
        raise ArgumentError("experiment {}: {}".format(path, error)) from error


class _Definitions:
    """The names that an experiment's file defined."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def get(self, name: str, kind: Any, what: str, *default: Any) -> Any:
        value = getattr(self.module, name, *default) if default else self._required(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ArgumentError("{} is {!r}, it must be {}".format(name, value, what))
        return value

    def call(self, name: str) -> Any:
        function = self._required(name)
        if not callable(function):
            raise ArgumentError("{} is {!r}, it must be a function".format(name, function))
        return attempt("{}()".format(name), function)

    def _required(self, name: str) -> Any:
        if not hasattr(self.module, name):
            raise ArgumentError("{} is missing; {}".format(name, DEFINES))
        return getattr(self.module, name)


def attempt(what: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call what an experiment brings, and turn its exception into one line about the experiment."""
    try:
        return function(*args)
    except Exception as error:
        text = " ".join(str(error).split())
        raise ArgumentError("{} raised {}: {}".format(what, type(error).__name__, text)) from error


def _execute(path: str) -> Any:
    # As for a script, what lies beside the file can be imported from it.
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("freezecompat_experiment", path)
    if spec is None or spec.loader is None:
        raise ArgumentError("it is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    attempt("the file", spec.loader.exec_module, module)
    return module


def _checked(path: str, defined: _Definitions) -> Experiment:
    build = defined.get("build", object, "a function")
    if not callable(build):
        raise ArgumentError("build is {!r}, it must be a function of Keras".format(build))
    spec = defined.get("SPEC", object, "what FreezeSpec takes")
    spec = spec if isinstance(spec, FreezeSpec) else attempt("FreezeSpec(SPEC)", FreezeSpec, spec)
    optimizer = defined.get("OPTIMIZER", dict, 'a dict such as {"name": "adam", "learning_rate": 0.01}')
    optimizers.check(optimizer)
    x, y = _rows(defined.call("data"))
    batch_size = defined.get("BATCH_SIZE", numbers.Integral, "a whole number of rows", len(x))
    steps = defined.get("STEPS", numbers.Integral, "a whole number of steps")
    tolerance = defined.get("TOLERANCE_ULP", numbers.Integral, "a whole number of ULPs")
    for name, value, least in (("BATCH_SIZE", batch_size, 1), ("STEPS", steps, 1), ("TOLERANCE_ULP", tolerance, 0)):
        if value < least:
            raise ArgumentError("{} is {}, it must be at least {}".format(name, value, least))
    title = defined.get("TITLE", str, "a line of text", os.path.splitext(os.path.basename(path))[0])
    return Experiment(
        path=path,
        title=title,
        build=build,
        initial_weights=_arrays(defined.call("initial_weights")),
        x=x,
        y=y,
        spec=spec,
        optimizer=dict(optimizer),
        loss=_loss(
            defined.get("LOSS", object, "the name of a loss, or a function of TensorFlow, y and the prediction")
        ),
        steps=int(steps),
        batch_size=int(batch_size),
        tolerance_ulp=int(tolerance),
    )


def _loss(loss: Any) -> Any:
    if not callable(loss) and loss not in LOSSES:
        raise ArgumentError(
            "LOSS is {!r}, it must be one of {}, or a function of TensorFlow, y and the prediction".format(
                loss, ", ".join(map(repr, sorted(LOSSES)))
            )
        )
    return loss


def _rows(pair: Any) -> Tuple[np.ndarray, np.ndarray]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ArgumentError("data() returned {}, it must return x, y".format(type(pair).__name__))
    x, y = (attempt("data()", np.asarray, part) for part in pair)
    for name, array in (("x", x), ("y", y)):
        if array.ndim == 0 or array.dtype.kind not in "biuf":
            raise ArgumentError("{} of data() is no array of numbers: {} {}".format(name, array.dtype, array.shape))
    if len(x) != len(y) or len(x) == 0:
        raise ArgumentError("data() returned {} rows of x and {} of y".format(len(x), len(y)))
    return x, y


def _arrays(weights: Any) -> List[np.ndarray]:
    if not isinstance(weights, (tuple, list)):
        raise ArgumentError(
            "initial_weights() returned {}, it must return a list of arrays".format(type(weights).__name__)
        )
    arrays = [np.asarray(array) for array in weights]
    for k, array in enumerate(arrays):
        if array.dtype.kind not in "biuf":
            raise ArgumentError("initial_weights()[{}] is no array of numbers: {}".format(k, array.dtype))
    return arrays


def options_text(optimizer: Dict[str, Any]) -> str:
    """One line for a table.

    Example:
        >>> options_text({"name": "sgd", "learning_rate": 0.01})
        'sgd(learning_rate=0.01)'
    """
    options = ", ".join("{}={}".format(key, value) for key, value in optimizer.items() if key != "name")
    return "{}({})".format(optimizer["name"], options)


def loss_text(loss: Any) -> Optional[str]:
    """The name of a loss."""
    return loss if isinstance(loss, str) else getattr(loss, "__name__", None)
