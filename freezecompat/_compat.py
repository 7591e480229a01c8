"""Where the versions of TensorFlow and Keras differ: the only file that branches on one.

Each function is named by the fact that it settles, looks for a feature and not for a number, and says which version's end
lets its branch go. TensorFlow is taken from `sys.modules`: whoever hands us a TensorFlow object has imported it.
"""

import contextlib
import gc
import sys
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

from .exceptions import MissingDependency


def tensorflow() -> Any:
    """The TensorFlow that the caller has imported."""
    module = sys.modules.get("tensorflow")
    if module is None:
        raise MissingDependency(
            'TensorFlow is not imported here; install it with pip install "freezecompat[tensorflow]" and import it first.'
        )
    return module


def v1() -> Any:
    """The TF1 API: `tf.compat.v1`, which TF 1.13 and later have too."""
    return tensorflow().compat.v1


def is_tf1() -> bool:
    """True on a real TensorFlow 1.x (can go with TF 1.15)."""
    return tensorflow().__version__.startswith("1.")


# Variables -----------------------------------------------------------------------------------------------------------


def is_keras3_variable(obj: Any) -> bool:
    """True for Keras 3's own variable class, which wraps a TensorFlow variable."""
    return any(base.__module__.startswith("keras.src.backend.common") for base in type(obj).__mro__)


def backend_variable(obj: Any) -> Any:
    """The TensorFlow variable inside a Keras 3 variable or a mixed precision variable; any other object as it is."""
    if is_keras3_variable(obj):
        return obj._value
    if type(obj).__name__.startswith("AutoCast"):
        # Keras 2 mixed precision: `layer.kernel` is a wrapper, or has a class of its own made for the wrapped one.
        return obj.__dict__["_variable"]
    return obj


def as_tensor(value: Any) -> Any:
    """The value of a variable as it is when this runs, also of a reference variable; or a tensor itself."""
    inner = backend_variable(value)
    return inner.read_value() if hasattr(inner, "read_value") else tensorflow().convert_to_tensor(inner)


def has_constraint(variable: Any) -> bool:
    """True for a variable whose optimizer calls a constraint after each step."""
    return getattr(variable, "constraint", None) is not None


def give_to_constraint(variable: Any, change: Callable[[Any], Any]) -> Callable[[], None]:
    """Let a variable's constraint be called with `change` of what it is given; returns the function that undoes it."""
    holder = variable if is_keras3_variable(variable) else backend_variable(variable)
    name = "_constraint" if "_constraint" in vars(holder) else "constraint"
    constraint = getattr(holder, name)
    setattr(holder, name, lambda value: constraint(change(value)))
    return lambda: setattr(holder, name, constraint)


def is_variable(obj: Any) -> bool:
    """True for a TensorFlow variable or a Keras 3 one that has been created."""
    module = sys.modules.get("tensorflow")
    return module is not None and isinstance(backend_variable(obj), module.Variable)


def is_module(obj: Any) -> bool:
    """True for a tf.Module (which exists since TF 1.14)."""
    module = getattr(tensorflow(), "Module", None)
    return module is not None and isinstance(obj, module)


def native_name(obj: Any) -> str:
    """The name that a user of this Keras sees: Keras 3's path, elsewhere the variable's name."""
    return obj.path if is_keras3_variable(obj) else obj.name


def graph_of(variable: Any) -> Any:
    """The TF1 graph that a variable belongs to; None for a variable of eager mode."""
    # Reference variables have no `_in_graph_mode` and exist in graphs only (can go with TF 1.15).
    return variable.graph if getattr(variable, "_in_graph_mode", True) else None


def has_static_shape(variable: Any) -> bool:
    """False for a variable whose number of elements may change from one step to the next."""
    return tensorflow().TensorShape(variable.shape).is_fully_defined()


def dtype_name(variable: Any) -> str:
    """A variable's dtype without the `_ref` of TF1's reference variables."""
    return variable.dtype.base_dtype.name


def select(condition: Any, yes: Any, no: Any) -> Any:
    """numpy's `where` for three tensors of one shape: a new tensor, never one of those that it is given."""
    tf = tensorflow()
    if condition.shape.ndims == 0:
        # Select hands on one of its inputs itself here: a snapshot would be the very buffer of a reference variable.
        return tf.reshape(select(*[tf.reshape(tensor, [1]) for tensor in (condition, yes, no)]), [])
    raw_ops = getattr(tf, "raw_ops", None)
    if raw_ops is None or not hasattr(raw_ops, "Select"):
        return v1().where(condition, yes, no)  # TF 1.13 only: TF 1.15 warns of a deprecation here
    return raw_ops.Select(condition=condition, x=yes, y=no)


def true_indices(condition: Any) -> Any:
    """Positions of the True entries of a rank 1 tensor, int64 of rank 1."""
    raw_ops = getattr(tensorflow(), "raw_ops", None)
    where = v1().where if raw_ops is None or not hasattr(raw_ops, "Where") else raw_ops.Where
    return tensorflow().reshape(where(condition=condition), [-1])


def bits(values: Any) -> Any:
    """The same bytes as integers: nan equals itself there, and -0.0 differs from 0.0."""
    tf = tensorflow()
    integer = {1: tf.int8, 2: tf.int16, 4: tf.int32}.get(values.dtype.size, tf.int64)
    return tf.bitcast(values, integer)


def bits_differ(one: Any, other: Any) -> Any:
    """Where the bytes of two tensors differ: a bool tensor of their shape."""
    tf = tensorflow()
    different = tf.not_equal(bits(one), bits(other))
    # There is no integer as large as a complex128: its bits are two of them, in an axis of their own.
    return tf.reduce_any(different, -1) if one.dtype.size > 8 else different


def zero_where(condition: Any, values: Any) -> Any:
    """Numbers with 0 where the condition is true, whatever stands there."""
    tf = tensorflow()
    if values.dtype.is_complex or is_tf1():  # no kernel takes a scalar there, or only a slow one (can go with TF 1.15)
        fixed = values.shape.is_fully_defined()
        zero = zeros(values.shape.as_list(), values.dtype) if fixed else tf.zeros_like(values)
        return select(condition, zero, values)
    return tf.where(condition, zeros([], values.dtype), values)


def cleared_where(condition: Any, values: Any) -> Any:
    """The same, not to be differentiated.

    The integers of the same bytes are selected: XLA fuses that with what makes the numbers and with what takes them.
    """
    if values.dtype.is_complex:
        return zero_where(condition, values)
    return tensorflow().bitcast(zero_where(condition, bits(values)), values.dtype)


def replaced_at(values: Any, positions: Any, new: Any) -> Any:
    """A tensor of rank 1 with other values at some positions."""
    tf = tensorflow()
    update = getattr(tf, "tensor_scatter_nd_update", None) or tf.tensor_scatter_update  # the latter: TF 1.13
    return update(values, tf.expand_dims(positions, 1), new)


def any_true(condition: Any) -> Any:
    """A bool scalar: whether any entry of a bool tensor of known rank is True."""
    tf, rank = tensorflow(), condition.shape.ndims
    return tf.reduce_any(condition, once(("axes", rank), lambda: tf.constant(list(range(rank)), tf.int32)))


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """The tensor of a fixed shape that holds 0, or False."""
    tf = tensorflow()
    dtype = tf.as_dtype(dtype)
    return once(("zeros", tuple(shape), dtype.name), lambda: tf.zeros(shape, dtype))


def once(key: Tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """A tensor that `make` builds of nothing; the parts of a graph that ask for the same key get the same one."""
    if tensorflow().executing_eagerly():
        return make()
    graph = v1().get_default_graph()
    if graph._get_control_flow_context() is not None:  # a branch or a loop
        return make()
    kept = getattr(graph, "_freezecompat_constants", None)
    if kept is None:
        kept = graph._freezecompat_constants = {}
    if key not in kept:
        with v1().control_dependencies(None):
            kept[key] = make()
    return kept[key]


def is_reference(variable: Any) -> bool:
    """True for a reference variable of a TF1 graph, whose value tensors are the buffer that its updates write."""
    return not hasattr(variable, "handle")


def can_write_in_cond(variable: Any) -> bool:
    """False for a reference variable under the control flow of TF 2, whose branches are functions that get its value."""
    functional = getattr(v1(), "control_flow_v2_enabled", lambda: False)  # TF 1.13 and 1.14 lack the question
    return not is_reference(variable) or not functional()


def flatten(structure: Any) -> List[Any]:
    """The leaves of nested lists and dicts, as TensorFlow orders them (TF 1.13 has no tf.nest)."""
    return (getattr(tensorflow(), "nest", None) or sys.modules["tensorflow.python.util.nest"]).flatten(structure)


def has_own_writes(variable: Any) -> bool:
    """True for a resource variable of eager mode that stands for itself, and not for its copies on several devices."""
    return type(variable).__name__ == "ResourceVariable" and graph_of(variable) is None


def handle_here(variable: Any) -> Any:
    """The tensor by which the function that is being traced takes a variable of eager mode."""
    return v1().get_default_graph().capture(variable.handle)


# Sessions and graphs -------------------------------------------------------------------------------------------------


def raw_session(session: Any) -> Any:
    """The tf.Session inside a MonitoredSession: running that one triggers no hooks."""
    inner = getattr(session, "_tf_sess", None) if session is not None else None
    return inner() if callable(inner) else session


def keras_session(model: Any) -> Any:
    """The session that Keras 2 trains `model` in (graph mode), or None where the model is not trained by Keras."""
    if getattr(model, "optimizer", None) is None:
        return None
    return tensorflow_keras_backend(model).get_session()


def tensorflow_keras_backend(model: Any) -> Any:
    """The `keras.backend` of the Keras 2 that `model` comes from: the one in TensorFlow, or the tf-keras package."""
    for base in type(model).__mro__:
        if base.__name__ == "Model" and base.__module__.split(".")[0] == "tf_keras":
            return sys.modules["tf_keras.src.backend"]
    return v1().keras.backend


def live_sessions(graph: Any) -> List[Any]:
    """The open sessions of a graph: it does not know them itself."""
    session_class = v1().Session.__mro__[1]
    sessions = _living(lambda cls: session_class in cls.__mro__)
    return [session for session in sessions if session.graph is graph and not session._closed]


def set_constant(tensor: Any, value: Any) -> None:
    """Change a constant of a TF1 graph for the sessions that have not run it yet; to others TensorFlow tells that it can't."""
    value_class = type(tensor.op.node_def.attr["value"])
    tensor.op._set_attr("value", value_class(tensor=v1().make_tensor_proto(value)))


def called_graphs(op: Any) -> List[Any]:
    """The graphs of the functions that an op calls: the branches of an If, the body of a While, a tf.function."""
    if op.op_def is None:  # TF 1.x: an op of a type that Python does not know
        return []
    names = [op.get_attr(attribute.name).name for attribute in op.op_def.attr if attribute.type == "func"]
    functions = [op.graph._get_function(name) for name in names]
    # A `Defun` of TF 1.x has no graph, and no variable is handed to it.
    return [function.graph for function in functions if hasattr(function, "graph")]


def ops_built_here() -> List[Any]:
    """The ops of the graph or function that is being built; [] where ops run at once."""
    return [] if tensorflow().executing_eagerly() else v1().get_default_graph().get_operations()


def moving_averages(variables: List[Any]) -> List[Any]:
    """The living `tf.train.ExponentialMovingAverage`s, if any of them may keep an average of one of the variables."""
    with init_scope():
        graph = graph_of(variables[0]) or v1().get_default_graph()
    averaged = {id(variable) for variable in graph.get_collection("moving_average_variables")}
    if not averaged & {id(variable) for variable in variables}:
        return []
    return _living(lambda cls: v1().train.ExponentialMovingAverage in cls.__mro__)


def init_scope() -> Any:
    """The scope that lifts ops out of functions, loops and control dependencies."""
    return tensorflow().init_scope()


def building_v1_graph() -> bool:
    """True where ops built now go into a TF1 graph that a Session runs."""
    with init_scope():
        return not tensorflow().executing_eagerly()


def order_by_hand() -> bool:
    """True where ops run in no order but that of their dependencies, and only if what is fetched depends on them.

    That is a TF1 graph, and the graph in which Keras of TF 1.15 and 2.0 builds some train steps in eager mode.
    """
    if tensorflow().executing_eagerly():
        return False
    graph = v1().get_default_graph()
    return not getattr(graph, "_add_control_dependencies", getattr(graph, "building_function", False))


def control_dependencies(before: Iterable[Any]) -> Any:
    """What is built in this context runs after `before`, Nones left out."""
    waited_for = [item for item in before if item is not None]
    if len(waited_for) > 1:
        # One op waits for all: else there would be an edge from each of them to each op of the context.
        with v1().control_dependencies(waited_for):
            waited_for = [tensorflow().no_op()]
    return v1().control_dependencies(waited_for)


def without_autograph(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, kept from being rewritten when a user's tf.function calls it."""
    experimental = getattr(tensorflow().autograph, "experimental", None)
    decorate = getattr(experimental, "do_not_convert", None)
    return decorate(function) if decorate is not None else function  # TF 1.13 has no do_not_convert there


def variable_in_no_collection(initial: Any, name: str, **options: Any) -> Any:
    """A resource variable of a TF1 graph that no saver and no initializer of all variables finds."""
    return v1().Variable(initial, trainable=False, collections=[], use_resource=True, name=name, **options)


def variable_of_any_length(dtype: Any, name: str) -> Any:
    """One of rank 1 and of no fixed length, initially empty."""
    dtype = tensorflow().as_dtype(dtype)
    initial = once(("empty", dtype.name), lambda: v1().placeholder_with_default(zeros([0], dtype), [None]))
    return variable_in_no_collection(initial, name, validate_shape=False)


# Keras models and layers ---------------------------------------------------------------------------------------------


def keras_kind(obj: Any) -> Optional[str]:
    """Say "layer" or "model" for an object of any Keras, None for all else, without importing a Keras to find out."""
    return _keras_kind(type(obj))


def _keras_kind(cls: type) -> Optional[str]:
    names = {base.__name__ for base in cls.__mro__ if _is_keras_module(base.__module__)}
    if "Layer" not in names:
        return None
    return "model" if "Model" in names else "layer"


def _is_keras_module(name: Any) -> bool:
    if not isinstance(name, str):  # some classes have a property of that name
        return False
    parts = name.split(".")
    return parts[0] in ("keras", "tf_keras") or (parts[0].startswith("tensorflow") and "keras" in parts)


def is_keras3(obj: Any) -> bool:
    """True for a layer, model or optimizer of Keras 3."""
    return any(base.__name__ == "KerasSaveable" for base in type(obj).__mro__)


def keras3_backend() -> Optional[str]:
    """The backend of an imported Keras 3: "tensorflow", "jax", "torch"; None where no Keras 3 is imported."""
    keras = sys.modules.get("keras")
    config = getattr(keras, "config", None)
    backend = getattr(config, "backend", None)
    return backend() if callable(backend) else None


def keras_description(obj: Any = None) -> Optional[str]:
    """Generation and version of the Keras that an object comes from, or of the one that is imported."""
    roots = [base.__module__.split(".")[0] for base in type(obj).__mro__]
    for name in ("tf_keras", "keras", "tensorflow.python.keras", "tensorflow_core.python.keras"):
        module = sys.modules.get(name)
        version = getattr(module, "__version__", None)
        if version is None or (obj is None and name == "tf_keras" and "keras" in sys.modules):
            continue
        if obj is None or name.split(".")[0] in roots:
            generation = "tf-keras" if name == "tf_keras" else "Keras" if version.startswith("3") else "tf.keras"
            return "{} {}".format(generation, version)
    return None


def holders(obj: Any) -> List[Any]:
    """The objects that have `obj` as an attribute, which it does not know itself: a look at every object of Python."""
    referrers = gc.get_referrers(obj)
    namespaces = [one for one in referrers if type(one) is dict and not _is_of_module(one)]
    found = referrers + (gc.get_referrers(*namespaces) if namespaces else [])
    distinct = {id(one): one for one in found if any(value is obj for value in getattr(one, "__dict__", {}).values())}
    return list(distinct.values())


def _is_of_module(namespace: Any) -> bool:
    name = namespace.get("__name__")
    return isinstance(name, str) and namespace is getattr(sys.modules.get(name), "__dict__", None)


def models_compiled_with(optimizer: Any, holders: Callable[[Any], List[Any]]) -> List[Any]:
    """The Keras models that train with an optimizer, also those that hold it inside of one that it steps for."""
    models = []
    for holder in holders(optimizer):
        if keras_kind(holder) == "model":
            models += [holder] if getattr(holder, "optimizer", None) is optimizer else []
        elif stepping_optimizer(holder) is stepping_optimizer(optimizer):
            models += models_compiled_with(holder, holders)
    return models


def _living(wanted: Callable[[type], bool]) -> List[Any]:
    """All objects of those classes that the garbage collector knows."""
    objects = gc.get_objects()
    classes = {cls for cls in set(map(type, objects)) if wanted(cls)}
    return [obj for obj in objects if type(obj) in classes] if classes else []


def sublayers(layer: Any) -> List[Any]:
    """The layers directly inside a layer or model, in the order in which they were added."""
    flatten = getattr(layer, "_flatten_layers", None)
    if flatten is not None:
        return list(flatten(recursive=False, include_self=False))
    found = []  # Up to TF 2.3 lists of layers are containers with a `layers` attribute of their own.
    for child in getattr(layer, "_layers", None) or []:
        if keras_kind(child):
            found.append(child)
        else:
            found.extend(getattr(child, "layers", []))
    return found


def own_variables(layer: Any) -> List[Tuple[Any, bool]]:
    """The weights that a layer holds itself, without those of the layers inside it; True = made as not trainable."""
    if is_keras3(layer):
        trained, state = layer._trainable_variables, layer._non_trainable_variables
    else:
        trained, state = layer._trainable_weights, layer._non_trainable_weights
    return [(variable, False) for variable in trained] + [(variable, True) for variable in state]


def is_adapted(layer: Any, role: str) -> bool:
    """True where a Keras 3 layer computes with the sum of this weight and a trained product (`enable_lora`)."""
    return role in ("kernel", "embeddings") and bool(getattr(layer, "lora_enabled", False))


def has_train_step(model: Any) -> bool:
    """True for a Keras model whose training calls its `train_step` (since TF 2.2)."""
    return hasattr(model, "train_step")


def forget_train_step(model: Any) -> List[Any]:
    """Make a Keras model build its train step anew; returns the update ops of a step that stays behind in a graph."""
    for step in getattr(model, "_distributed_function_cache", {}).values():
        _trace_anew(step)
    function = getattr(model, "train_function", None)
    if function is None:
        return []
    if fixed_train_step(model) is None:
        model.train_function = (
            None  # what make_train_function(force=True) does, which TF 2.2 to 2.4 and a user's own lack
        )
        model.make_train_function()
        return []
    left_behind = train_step_ops(model)
    model.train_function = None  # TF 1.15, 2.0, and graph mode on TF 2: made at the next fit or train_on_batch
    if not building_v1_graph():
        # There with a `tf.train` optimizer in eager mode: a running fit has taken hold of this object, so it stays.
        model._make_train_function()
        vars(function).update(vars(model.train_function))
        model.train_function = function
    return left_behind


def fixed_train_step(model: Any) -> Any:
    """The train step of Keras 2 whose ops were built once and for all; None where there is none, or a tf.function.

    TF 1.15, 2.0, and graph mode on TF 2.
    """
    traced = hasattr(model, "make_train_function") and "_make_train_function" not in dir(model)
    return None if traced else getattr(model, "train_function", None)


def _trace_anew(step: Any) -> None:
    # TF 1.15 and 2.0, eager mode: a running fit has taken hold of this function, so what it calls is replaced inside it.
    for cell in getattr(step, "__closure__", None) or ():
        function = getattr(cell.cell_contents, "_python_function", None)
        if function is not None:
            cell.cell_contents = tensorflow().function(function, autograph=False)


def train_step_ops(model: Any) -> List[Any]:
    """The ops of a graph mode train step of Keras 2 that was built already; [] where there is none."""
    update = getattr(getattr(model, "train_function", None), "updates_op", None)
    return ancestors(update) if update is not None else []


def in_running_fit_of_old_step(model: Any) -> bool:
    """True inside a graph mode `fit`, whose loop has taken hold of the train function before its first step."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "model_iteration" and frame.f_locals.get("model") is model:
            return True
        frame = frame.f_back
    return False


def ancestors(op: Any) -> List[Any]:
    """An op of a graph and all those that it depends on."""
    seen = {}
    todo = [op]
    while todo:
        op = todo.pop()
        if op.name not in seen:
            seen[op.name] = op
            todo.extend(tensor.op for tensor in op.inputs)
            todo.extend(op.control_inputs)
    return list(seen.values())


# Optimizers ----------------------------------------------------------------------------------------------------------


def is_old_keras_optimizer_class(cls: Any) -> bool:
    """Up to Keras 2.10, and the legacy ones after it: clipping outside of `apply_gradients`, epsilon outside of the root.

    Can go with TensorFlow 2.10.
    """
    return not hasattr(cls, "update_step")


def optimizer_kind(obj: Any) -> Optional[str]:
    """Say "v1", "keras3", "keras" (2.11 and later), "legacy" (OptimizerV2), or None for what is no optimizer."""
    return _optimizer_kind(type(obj))


def _optimizer_kind(cls: type) -> Optional[str]:
    module = sys.modules.get("tensorflow")
    if module is not None and module.compat.v1.train.Optimizer in cls.__mro__:
        return "v1"
    names = {base.__name__ for base in cls.__mro__ if _is_keras_module(base.__module__)}
    if "BaseOptimizer" in names:
        return "keras3"
    if "_BaseOptimizer" in names:
        return "keras"
    if "OptimizerV2" in names:
        return "legacy"
    return None


def wrapped_optimizer(optimizer: Any) -> Any:
    """The optimizer that a wrapper such as LossScaleOptimizer holds, under whatever name, or None."""
    return next((value for value in getattr(optimizer, "__dict__", {}).values() if optimizer_kind(value)), None)


def optimizers_within(optimizer: Any) -> List[Any]:
    """An optimizer and all those inside it: a wrapper holds one, Keras 3's MultiOptimizer several."""
    inner = wrapped_optimizer(optimizer)
    several = [inner] if inner is not None else vars(optimizer).get("_inner_optimizers", [])
    return [optimizer] + [one for held in several for one in optimizers_within(held)]


def is_wrapper(optimizer: Any) -> bool:
    """True for an optimizer that steps through others; Keras 3's MultiOptimizer makes them when it is built."""
    return wrapped_optimizer(optimizer) is not None or "_inner_optimizers" in vars(optimizer)


def wrappers_around(optimizer: Any, holders: Callable[[Any], List[Any]]) -> List[Any]:
    """The optimizers that hold an optimizer and call it, the innermost first."""
    for wrapper in holders(optimizer):
        if optimizer_kind(wrapper) and wrapped_optimizer(wrapper) is optimizer and not _steps_in_a_queue(wrapper):
            return [wrapper] + wrappers_around(wrapper, holders)
    return []


def loss_scaler_that_calls(optimizer: Any) -> Any:
    """The wrapper in whose method this is called that scales the loss for an optimizer, or None."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_varnames[:1] == ("self",):
            caller = frame.f_locals.get("self")
            if _scales_loss(type(caller)) and wrapped_optimizer(caller) is optimizer:
                return caller
        frame = frame.f_back
    return None


def _scales_loss(cls: type) -> bool:
    return any("LossScaleOptimizer" in base.__name__ for base in cls.__mro__)  # tf-keras has a LossScaleOptimizerV3


def stepping_optimizer(optimizer: Any) -> Any:
    """The optimizer at which a step is held: the given one, or what is inside where that alone is called for a step.

    compile() puts a `tf.train` optimizer into a TFOptimizer, which Keras does not always call; contrib's
    MultitaskOptimizerWrapper is no optimizer and hands on those of the one that it holds.
    """
    if type(optimizer).__name__ == "TFOptimizer" and not optimizer_kind(optimizer):
        return stepping_optimizer(optimizer.optimizer)
    if not optimizer_kind(optimizer):
        inner = wrapped_optimizer(optimizer)
        handed_on = inner is not None and getattr(optimizer, "apply_gradients", None) == inner.apply_gradients
        return stepping_optimizer(inner) if handed_on else optimizer
    in_a_queue = [wrapped_optimizer(one) for one in optimizers_within(optimizer) if _steps_in_a_queue(one)]
    return in_a_queue[-1] if in_a_queue else optimizer


def _steps_in_a_queue(optimizer: Any) -> bool:
    """True for the optimizer whose `train_op` only hands gradients over: a queue's thread steps the one inside it."""
    return any(base.__name__ == "SyncReplicasOptimizer" for base in type(optimizer).__mro__)


def copies_between_workers(optimizer: Any) -> bool:
    """True for contrib's optimizers that write a common copy of the weights over those of a worker (until TF 1.15)."""
    names = {base.__name__ for base in type(optimizer).__mro__}
    return bool(names & {"AGNOptimizer", "ElasticAverageOptimizer", "ModelAverageOptimizer"})


def taken_from_queue(gradient: Any) -> bool:
    """True for a gradient that waits in its run for others to hand it over, as in a SyncReplicasOptimizer."""
    tensor = gradient.values if isinstance(gradient, tensorflow().IndexedSlices) else gradient
    return "AccumulatorTakeGradient" in getattr(getattr(tensor, "op", None), "type", "")  # eager tensors have no op


def clips_where_it_differentiates(optimizer: Any) -> bool:
    """True for an optimizer whose `clipnorm` or `clipvalue` acts before apply_gradients (until TF 2.1)."""
    clips_later = hasattr(optimizer, "_clip_gradients") or hasattr(optimizer, "_transform_gradients")
    asked = "clipnorm" in vars(optimizer) or "clipvalue" in vars(optimizer)
    return optimizer_kind(optimizer) == "legacy" and asked and not clips_later


@contextlib.contextmanager
def clipping_taken_out(optimizer: Any) -> Iterator[Callable[[List[Any]], List[Any]]]:
    """Let such an optimizer not clip in this context; it gives the function that clips gradients as the optimizer does."""
    tf = tensorflow()
    options = {name: vars(optimizer).pop(name) for name in ("clipnorm", "clipvalue") if name in vars(optimizer)}

    def clip(gradients: List[Any]) -> List[Any]:
        if "clipnorm" in options:
            gradients = [tf.clip_by_norm(one, options["clipnorm"]) for one in gradients]
        if "clipvalue" in options:
            bound = options["clipvalue"]
            gradients = [tf.clip_by_value(one, -bound, bound) for one in gradients]
        return gradients

    try:
        yield clip
    finally:
        vars(optimizer).update(options)


def step_variable(optimizer: Any) -> Any:
    """The variable in which a Keras optimizer counts its steps, or None where there is none (yet)."""
    inner = wrapped_optimizer(optimizer)
    while inner is not None:
        optimizer, inner = inner, wrapped_optimizer(inner)
    variable = getattr(optimizer, "_iterations", None)
    return None if variable is None else backend_variable(variable)


def slot_variables(optimizer: Any, variable: Any) -> Iterator[Tuple[str, Any]]:
    """(name, slot) of what an optimizer itself remembers for a variable, in a fixed order."""
    if hasattr(optimizer, "get_slot_names"):  # tf.train and OptimizerV2
        # OptimizerV2's LossScaleOptimizer has no slots, but hands out those of the optimizer inside it.
        own = vars(optimizer).keys() & {"_slots", "_per_graph_state"}  # the latter: contrib.optimizer_v2 (TF 1.15)
        for name in sorted(optimizer.get_slot_names() if own else ()):
            slot = _existing_slot(optimizer, variable, name)
            if slot is not None:
                yield name, slot
        return
    indices = getattr(optimizer, "_trainable_variables_indices", None)  # Keras 3
    if indices is None:
        indices = getattr(optimizer, "_index_dict", {})  # Keras 2.11 to 2.15, tf-keras
    position = indices.get(optimizer._var_key(variable))
    if position is None:
        return
    for name in sorted(vars(optimizer)):
        value = vars(optimizer)[name]
        if name not in ("_variables", "_trainable_variables") and isinstance(value, list) and position < len(value):
            if is_variable(value[position]):
                yield name, backend_variable(value[position])


def _existing_slot(optimizer: Any, variable: Any, name: str) -> Any:
    try:
        return optimizer.get_slot(variable, name)
    except KeyError:  # OptimizerV2, for a variable that it has not stepped yet
        return None


def fresh_optimizer(optimizer: Any, variable: Any) -> Any:
    """An optimizer as it is before its first step, with the slots of this one eager variable."""
    kind = optimizer_kind(optimizer)
    probe = unbuilt_optimizer(optimizer)
    if hasattr(probe, "_per_graph_state"):  # contrib.optimizer_v2 (can go with TF 1.15)
        strategy = tensorflow().distribute.get_strategy()
        devices = strategy.extended.non_slot_devices([variable])
        state = probe._get_or_create_state([variable])._copy_with_dynamic_hyper(probe._hyper, strategy, devices)
        probe._create_vars([variable], state)
    elif kind in ("v1", "legacy"):
        with _names_given_back():
            probe._create_slots([variable])
    else:
        probe.build([_as_built(optimizer, variable)])
    return probe


def _names_given_back() -> Any:
    """A context that takes no name away from what is made later: a `tf.train` optimizer numbers the scopes of its slots."""
    return v1().variable_scope(v1().get_variable_scope(), auxiliary_name_scope=False)


def _as_built(optimizer: Any, variable: Any) -> Any:
    """The object under which an optimizer knows a variable: Keras 3's Muon and Adafactor ask that for its path and name."""
    for known in getattr(optimizer, "_trainable_variables", ()):
        if backend_variable(known) is variable:
            return known
    return variable


def unbuilt_optimizer(optimizer: Any) -> Any:
    """An optimizer of the same class and options that has seen no variable yet; raises what the class raises."""
    twin = object.__new__(type(optimizer))  # copy.copy() of a Keras 3 optimizer saves and loads it
    vars(twin).update(vars(optimizer))
    if optimizer_kind(optimizer) == "v1":
        for name in (
            "_slots",
            "_per_graph_state",
            "_non_slot_dict",
            "_deferred_slot_restorations",
            "_deferred_dependencies",
        ):
            if name in vars(twin):
                vars(twin)[name] = type(vars(optimizer)[name])()
        return twin
    # Slots don't depend on the learning rate, and a schedule of the user's own may have no config.
    if "_hyper" in vars(twin):
        vars(twin)["_hyper"] = dict(vars(twin)["_hyper"], learning_rate=0.5)
    else:
        vars(twin)["_learning_rate"] = 0.5
    return type(optimizer).from_config(twin.get_config())
