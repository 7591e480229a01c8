"""Train one experiment under one API. Runs in a process of its own: two of the APIs switch TensorFlow's mode."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

from .. import _compat
from ..api import freeze, list_weights
from ..exceptions import ArgumentError, FreezeCompatError, FrozenWeightsMoved
from .experiment import Experiment, attempt
from .losses import loss_function
from .optimizers import Unavailable, keras_optimizer, train_optimizer


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


class _Task(NamedTuple):
    experiment: Experiment
    begun: Callable[[], Any]


class _Training:
    """The steps of an experiment that are the same under every API."""

    def __init__(self, task: "_Task", tf: Any, keras: Any) -> None:
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


class _Weights:
    """The weights of a model, and how to read them."""

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


def _assignments(operations: List[Any], model: Any) -> List[Any]:
    """The ops that assign to weights, such as BatchNorm's to its moving statistics.

    Keras 2 lists them in `model.updates`, with those of its own placeholders; Keras 3 lists them nowhere.
    """
    weights = [_compat.backend_variable(variable).op for variable in model.weights]
    return [op for op in operations if op.type.startswith("Assign") and any(op.inputs[0].op is w for w in weights)]


# The APIs ------------------------------------------------------------------------------------------------------------


def _tf1_eager(task: _Task, tf: Any) -> Trained:
    v1 = tf.compat.v1
    v1.enable_eager_execution()
    training = _Training(task, tf, v1.keras)
    model = training.model()
    training.set_weights(model)
    optimizer = train_optimizer(v1.train, task.experiment.optimizer)
    global_step = v1.train.get_or_create_global_step()
    weights = _Weights(model)
    frozen = training.freeze(model, optimizer=optimizer)
    losses = []
    for step in range(task.experiment.steps):
        x, y = map(tf.convert_to_tensor, training.batch(step))
        with tf.GradientTape() as tape:
            loss = training.loss(model, x, y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables), global_step=global_step)
        losses.append(loss.numpy())
    return weights.trained(frozen, losses)


def _tf1_graph(task: _Task, tf: Any) -> Trained:
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    training = _Training(task, tf, v1.keras)
    x, y = (v1.placeholder(array.dtype, (None,) + array.shape[1:]) for array in (training.x, training.y))
    with v1.Session() as session:
        model = training.model(x)
        built = len(session.graph.get_operations())
        loss = training.loss(model, x, y)
        updates = _assignments(session.graph.get_operations()[built:], model)
        global_step = v1.train.get_or_create_global_step()
        session.run(v1.global_variables_initializer())
        training.set_weights(model, session)
        weights = _Weights(model, session)
        optimizer = train_optimizer(v1.train, task.experiment.optimizer)
        frozen = training.freeze(model, optimizer=optimizer, session=session)
        known = {id(variable) for variable in v1.global_variables()}
        step_op = optimizer.minimize(loss, global_step=global_step, var_list=model.trainable_variables)
        step_op = tf.group(step_op, *updates)
        session.run(v1.variables_initializer([v for v in v1.global_variables() if id(v) not in known]))
        losses = []
        for step in range(task.experiment.steps):
            losses.append(session.run([loss, step_op], dict(zip((x, y), training.batch(step))))[0])
        return weights.trained(frozen, losses)


def _keras_fit(task: _Task, tf: Any) -> Trained:
    training = _Training(task, tf, tf.keras)
    model = training.model()
    training.set_weights(model)
    model.compile(optimizer=keras_optimizer(tf.keras, task.experiment.optimizer), loss=training.keras_loss())
    weights = _Weights(model, None if tf.executing_eagerly() else tf.compat.v1.keras.backend.get_session())
    frozen = training.freeze(model)
    rounds = tf.data.Dataset.from_tensor_slices((training.x, training.y)).batch(task.experiment.batch_size).repeat()
    # An epoch of one batch each: so the history has the loss of each step, and not a running mean.
    history = model.fit(rounds, epochs=task.experiment.steps, steps_per_epoch=1, shuffle=False, verbose=0)
    return weights.trained(frozen, history.history["loss"])


def _keras_loop(task: _Task, tf: Any) -> Trained:
    tf.compat.v1.enable_eager_execution()
    training = _Training(task, tf, tf.keras)
    model = training.model()
    training.set_weights(model)
    optimizer = keras_optimizer(tf.keras, task.experiment.optimizer)
    weights = _Weights(model)
    frozen = training.freeze(model, optimizer=optimizer)

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = training.loss(model, x, y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    signature = [tf.TensorSpec((None,) + array.shape[1:], array.dtype) for array in (training.x, training.y)]
    traced = tf.function(train_step, input_signature=signature)
    losses = []
    for step in range(task.experiment.steps):
        losses.append(traced(*map(tf.convert_to_tensor, training.batch(step))).numpy())
    return weights.trained(frozen, losses)


_TRAIN: Dict[str, Callable[[_Task, Any], Trained]] = {
    "tf1-eager": _tf1_eager,
    "tf1-graph": _tf1_graph,
    "keras-fit": _keras_fit,
    "keras-loop": _keras_loop,
}


def train(experiment: Experiment, api: str, tf: Any, begun: Callable[[], Any] = lambda: None) -> Trained:
    """Train from the initial weights.

    Args:
        experiment: what to train.
        api: one of `APIS`.
        tf: the TensorFlow module.
        begun: called when the model is built and frozen, before its first step.

    Raises:
        Unavailable: this TensorFlow, or its Keras, cannot do it.
        ArgumentError: the experiment is wrong.
    """
    reason = why_not(api, tf)
    if reason is not None:
        raise Unavailable(reason)
    return _TRAIN[api](_Task(experiment, begun), tf)


def why_not(api: str, tf: Any) -> Optional[str]:
    """The reason why a TensorFlow does not offer an API, None where it does."""
    try:
        optimizer = tf.keras.optimizers.SGD
    except ImportError as error:
        return "no Keras: {}".format(error)
    if _compat.keras3_backend() not in (None, "tensorflow"):
        return "Keras runs on {} here, not on TensorFlow".format(_compat.keras3_backend())
    if api.startswith("keras-") and not hasattr(optimizer, "apply_gradients"):
        return "the Keras optimizers of this TensorFlow have no apply_gradients"
    if api == "keras-loop" and not hasattr(tf, "function"):
        return "this TensorFlow has no tf.function"
    return None
