"""What a training is made of that is the same under every API: model, batches, loss, freeze, and the weights it leaves."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from .. import _compat
from ..api import freeze, list_weights
from ..exceptions import ArgumentError, FreezeCompatError, FrozenWeightsMoved
from .experiment import Experiment, attempt
from .losses import loss_function


class Trained(NamedTuple):
    """What a training leaves behind.

    Attributes:
        rows: list_weights of the model.
        initial, final: arrays, one per row.
        masks: {address: bool array}, True = frozen.
        losses: the loss of each step, before its update.
        moved: what verify() said, None if it was silent.
    """

    rows: List[Any]
    initial: List[np.ndarray]
    final: List[np.ndarray]
    masks: Dict[str, np.ndarray]
    losses: List[Any]
    moved: Optional[str]


class Task(NamedTuple):
    """What to train, and whom to tell when the model is built and frozen."""

    experiment: Experiment
    begun: Callable[[], Any]


class Training:
    """The steps of an experiment that are the same under every API."""

    def __init__(self, task: Task, tf: Any, keras: Any) -> None:
        experiment = self.experiment = task.experiment
        self._begun = task.begun
        self.tf = tf
        self.keras = keras
        self._loss = loss_function(tf, experiment.loss)
        self.x = self._for_model(experiment.x)
        self.y = self._for_model(experiment.y)

    def _for_model(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.keras.backend.floatx()) if array.dtype.kind == "f" else array

    def batch(self, step: int) -> List[np.ndarray]:
        rows = self.experiment.rows(step)
        return [self.x[rows], self.y[rows]]

    def model(self, placeholder: Any = None) -> Any:
        """A model with weights."""
        model = attempt("build(keras)", self.experiment.build, self.keras)
        if not hasattr(model, "set_weights"):
            raise ArgumentError("build(keras) returned {!r}, it must return a model".format(model))
        if _has_weights(model):
            return model
        if placeholder is not None:
            model(placeholder)
        elif self.tf.executing_eagerly():
            model(self.tf.convert_to_tensor(self.x[:1]))
        else:  # fit in TF 1.15's graph mode would train on what a model of one's own class was called on
            model.build((None,) + self.x.shape[1:])
        return model

    def loss(self, model: Any, x: Any, y: Any) -> Any:
        """The scalar that a step of hand-written training makes smaller; fit adds the layers' losses by itself."""
        value = self._loss(y, model(x, training=True))
        return self.tf.add_n([value] + list(model.losses)) if model.losses else value

    def keras_loss(self) -> Callable[[Any, Any], Any]:
        """The loss for compile()."""
        loss = self._loss

        def explicit_loss(y_true: Any, y_pred: Any) -> Any:
            return loss(y_true, y_pred)

        return explicit_loss

    def freeze(self, model: Any, **options: Any) -> Any:
        try:
            frozen = freeze(model, self.experiment.spec, **options)
        except FreezeCompatError as error:
            raise ArgumentError("SPEC does not fit the model: {}".format(error)) from error
        self._begun()
        return frozen

    def set_weights(self, model: Any, session: Any = None) -> None:
        arrays = self.experiment.initial_weights
        if session is not None and _compat.is_keras3(model):
            attempt("initial_weights()", _load, model.weights, arrays, session)  # set_weights fails there
        else:
            attempt("model.set_weights(initial_weights())", model.set_weights, arrays)


class Weights:
    """The weights of a model, as they are when training begins, pinned ones set, and how to read them."""

    def __init__(self, model: Any, session: Any = None) -> None:
        self.rows = list_weights(model)
        self._variables = [row.handles[-1] for row in self.rows]
        self._session = session
        self.initial = self.read()

    def read(self) -> List[np.ndarray]:
        if self._session is not None:
            return [np.array(value) for value in self._session.run(self._variables)]
        return [np.array(variable.numpy()) for variable in self._variables]

    def trained(self, frozen: Any, losses: List[Any]) -> Trained:
        try:
            frozen.verify(self._session)
            moved = None
        except FrozenWeightsMoved as error:
            moved = str(error)
        masks = {address: np.array(mask) for address, mask in frozen.masks.items()}
        return Trained(self.rows, self.initial, self.read(), masks, losses, moved)


def _has_weights(model: Any) -> bool:
    try:
        return bool(model.weights)
    except ValueError:  # Keras 2: "Weights for model x have not yet been created"
        return False


def _load(variables: List[Any], arrays: List[np.ndarray], session: Any) -> None:
    shapes = [tuple(array.shape) for array in arrays]
    expected = [tuple(variable.shape) for variable in variables]
    if shapes != expected:
        raise ValueError("the model's weights have the shapes {}, the arrays {}".format(expected, shapes))
    for variable, array in zip(variables, arrays):
        backend = _compat.backend_variable(variable)
        backend.load(array.astype(_compat.dtype_name(backend)), session)


def assignments(operations: List[Any], model: Any) -> List[Any]:
    """The ops that assign to weights, such as BatchNorm's to its moving statistics.

    Keras 2 lists them in `model.updates`, with those of its own placeholders; Keras 3 lists them nowhere.
    """
    weights = [_compat.backend_variable(variable).op for variable in model.weights]
    return [op for op in operations if op.type.startswith("Assign") and any(op.inputs[0].op is w for w in weights)]
