"""Train one experiment under one API. Runs in a process of its own: two of the APIs switch TensorFlow's mode."""

from typing import Any, Callable, Dict, Optional

from .. import _compat
from .experiment import Experiment
from .optimizers import Unavailable, keras_optimizer, train_optimizer
from .training import Task, Trained, Training, Weights, assignments


def _tf1_eager(task: Task, tf: Any) -> Trained:
    v1 = tf.compat.v1
    v1.enable_eager_execution()
    training = Training(task, tf, v1.keras)
    model = training.model()
    training.set_weights(model)
    optimizer = train_optimizer(v1.train, task.experiment.optimizer)
    global_step = v1.train.get_or_create_global_step()
    frozen = training.freeze(model, optimizer=optimizer)
    weights = Weights(model)
    losses = []
    for step in range(task.experiment.steps):
        x, y = map(tf.convert_to_tensor, training.batch(step))
        with tf.GradientTape() as tape:
            loss = training.loss(model, x, y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables), global_step=global_step)
        losses.append(loss.numpy())
    return weights.trained(frozen, losses)


def _tf1_graph(task: Task, tf: Any) -> Trained:
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    training = Training(task, tf, v1.keras)
    x, y = (v1.placeholder(array.dtype, (None,) + array.shape[1:]) for array in (training.x, training.y))
    with v1.Session() as session:
        model = training.model(x)
        built = len(session.graph.get_operations())
        loss = training.loss(model, x, y)
        updates = assignments(session.graph.get_operations()[built:], model)
        global_step = v1.train.get_or_create_global_step()
        session.run(v1.global_variables_initializer())
        training.set_weights(model, session)
        optimizer = train_optimizer(v1.train, task.experiment.optimizer)
        frozen = training.freeze(model, optimizer=optimizer, session=session)
        weights = Weights(model, session)
        known = {id(variable) for variable in v1.global_variables()}
        step_op = optimizer.minimize(loss, global_step=global_step, var_list=model.trainable_variables)
        step_op = tf.group(step_op, *updates)
        session.run(v1.variables_initializer([v for v in v1.global_variables() if id(v) not in known]))
        losses = []
        for step in range(task.experiment.steps):
            losses.append(session.run([loss, step_op], dict(zip((x, y), training.batch(step))))[0])
        return weights.trained(frozen, losses)


def _keras_fit(task: Task, tf: Any) -> Trained:
    training = Training(task, tf, tf.keras)
    model = training.model()
    training.set_weights(model)
    model.compile(optimizer=keras_optimizer(tf.keras, task.experiment.optimizer), loss=training.keras_loss())
    frozen = training.freeze(model)
    weights = Weights(model, None if tf.executing_eagerly() else tf.compat.v1.keras.backend.get_session())
    rounds = tf.data.Dataset.from_tensor_slices((training.x, training.y)).batch(task.experiment.batch_size).repeat()
    # An epoch of one batch each: so the history has the loss of each step, and not a running mean.
    history = model.fit(rounds, epochs=task.experiment.steps, steps_per_epoch=1, shuffle=False, verbose=0)
    return weights.trained(frozen, history.history["loss"])


def _keras_loop(task: Task, tf: Any) -> Trained:
    tf.compat.v1.enable_eager_execution()
    training = Training(task, tf, tf.keras)
    model = training.model()
    training.set_weights(model)
    optimizer = keras_optimizer(tf.keras, task.experiment.optimizer)
    frozen = training.freeze(model, optimizer=optimizer)
    weights = Weights(model)

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


_TRAIN: Dict[str, Callable[[Task, Any], Trained]] = {
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
    return _TRAIN[api](Task(experiment, begun), tf)


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
