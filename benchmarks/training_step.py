"""What a freeze costs in training: each step beside the plain step of the same program, measured in turn in one process.

    python benchmarks/training_step.py [--program NAME ...] [--load dense conv] [--size 3000] [--rounds 15] [--json FILE]

Two loads: `dense`, a square kernel of 3000 rows, where the optimizer dominates, and `conv`, a small network, where the model does.

A program is one way to train under one API; which there are, this TensorFlow decides. Every variant of it is built and warmed up
first; then a round runs each of them once, so that what else the machine does hits all alike. A figure is the median over the rounds of
variant divided by plain, and in brackets the middle half of them; the same in processor time beside it. `plain again` is a
second plain program: what it is away from 1 is noise. Besides freezecompat, what people write themselves (`by hand`), and
what tfmot does, are measured.
"""

import functools
import importlib.util
import inspect
import os
import sys

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tensorflow as tf  # noqa: E402

import figures  # noqa: E402
import freezecompat as fc  # noqa: E402

v1 = tf.compat.v1
v1.enable_eager_execution()  # TF 1.x; its graphs are made explicitly
BATCH = 32
RATE = 1e-3


class Load:
    """Data, the kernel that is frozen, and a Keras model of it."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        random = np.random.RandomState(0)
        if name == "dense":
            self.shape, self.steps = (size, size), 5
            self.x = random.randn(BATCH * self.steps, size).astype(np.float32)
            self.y = random.randn(BATCH * self.steps, size).astype(np.float32)
        else:
            self.shape, self.steps = (3, 3, 64, 64), 2
            self.x = random.randn(BATCH * self.steps, 32, 32, 3).astype(np.float32)
            self.y = random.randn(BATCH * self.steps, 10).astype(np.float32)

    def layers(self, keras, constraint=None):
        layers = keras.layers
        if self.name == "dense":
            return [layers.Dense(self.size, use_bias=False, name="frozen", kernel_constraint=constraint)]
        return [
            layers.Conv2D(64, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu", name="frozen", kernel_constraint=constraint),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]

    def model(self, keras, constraint=None):
        return keras.models.Sequential([keras.layers.InputLayer(self.x.shape[1:])] + self.layers(keras, constraint))

    def target(self, program):
        """What a frozen step may cost: 1.05 where the optimizer dominates, 1.02 where the model does, 1.15 op by op."""
        return 1.15 if isinstance(program, Loop) and not program.function else {"dense": 1.05, "conv": 1.02}[self.name]

    def batches(self):
        for start in range(0, len(self.x), BATCH):
            yield self.x[start : start + BATCH], self.y[start : start + BATCH]


def masks(shape):
    """{name: elements that are frozen}"""
    half = np.random.RandomState(1).rand(*shape) < 0.5
    all_but_one = np.ones(shape, bool)
    all_but_one[(0,) * len(shape)] = False
    two = [(1,) * len(shape), (2,) * len(shape)]
    return {
        "none yet": None,
        "2 elements": two,
        "half, a slice": np.s_[: shape[0] // 2],
        "half": half,
        "all but 1": all_but_one,
    }


class Keras:
    """A compiled model and fit; `jit=None`: a Keras that has no such option."""

    by_hand = ("constraint",)

    def __init__(self, keras, jit=None):
        self.keras, self.jit = keras, jit

    def make(self, load, elements=None, freeze=False, by_hand=None):
        keras = self.keras
        hold = hold_by_constraint(keras, load) if by_hand == "constraint" else None
        model = load.model(keras, hold)
        if hold is not None:
            hold.held = tf.constant(model.get_layer("frozen").kernel.numpy())
        if by_hand == "tfmot":
            model = pruned(model)
        model.compile(keras.optimizers.Adam(RATE), "mse", **{} if self.jit is None else {"jit_compile": self.jit})
        if freeze:
            fc.freeze(model, spec_of("frozen/kernel", elements))
        return self.fit(model, load, pruning_callbacks(by_hand))

    def fit(self, model, load, callbacks):
        data = tf.data.Dataset.from_tensor_slices((load.x, load.y)).batch(BATCH)
        return lambda: model.fit(data, verbose=0, callbacks=callbacks)


class KerasInGraph(Keras):
    """The same in a TF1 graph and a session of its own."""

    by_hand = ()

    def make(self, load, **arguments):
        graph = tf.Graph()
        session = v1.Session(graph=graph)
        made = super().make

        def inside(function):
            with graph.as_default(), session.as_default():
                self.keras.backend.set_session(session)
                return function()

        run = inside(lambda: made(load, **arguments))
        return lambda: inside(run)

    def fit(self, model, load, callbacks):
        # Arrays: a dataset would add ops to the graph each time.
        return lambda: model.fit(load.x, load.y, batch_size=BATCH, shuffle=False, verbose=0, callbacks=callbacks)


class Loop:
    """A tf.function of one's own around a tape and a Keras optimizer; `function=None`: op by op."""

    by_hand = ("gradient times mask", "select and put back", "scatter back one by one")

    def __init__(self, keras, function=tf.function):
        self.keras, self.function = keras, function

    def make(self, load, elements=None, freeze=False, by_hand=None):
        model = load.model(self.keras)
        optimizer = self.keras.optimizers.Adam(RATE)
        kernel = model.get_layer("frozen").kernel
        if freeze:
            fc.freeze(model, spec_of("frozen/kernel", elements), optimizer=optimizer)
        change, put_back = recipe(by_hand, load, kernel)

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            pairs = zip(gradients, model.trainable_variables)
            optimizer.apply_gradients([(change(g) if v is kernel else g, v) for g, v in pairs])
            put_back()
            return loss

        step = self.function(step) if self.function else step
        batches = [tuple(map(tf.constant, batch)) for batch in load.batches()]
        return lambda: [step(x, y).numpy() for x, y in batches]


class Graph:
    """tf.train in a TF1 graph and a session."""

    by_hand = ()

    def make(self, load, elements=None, freeze=False, by_hand=None):
        with tf.Graph().as_default() as graph:
            x, y = [v1.placeholder(tf.float32, (BATCH,) + array.shape[1:]) for array in (load.x, load.y)]
            kernel = v1.get_variable("kernel", load.shape, use_resource=True)
            loss = tf.reduce_mean(tf.square(self.output(load, x, kernel) - y))
            optimizer = v1.train.AdamOptimizer(RATE)
            session = v1.Session(graph=graph)
            if freeze:
                fc.freeze(None, spec_of("kernel", elements), optimizer=optimizer, session=session)
            train = optimizer.minimize(loss)
            session.run(v1.global_variables_initializer())
        return lambda: [session.run([train, loss], {x: some, y: wanted}) for some, wanted in load.batches()]

    def output(self, load, x, kernel):
        if load.name == "dense":
            return tf.matmul(x, kernel)
        first = v1.get_variable("first", (3, 3, 3, 64), use_resource=True)
        hidden = tf.nn.relu(tf.nn.conv2d(x, first, strides=[1, 1, 1, 1], padding="VALID"))
        hidden = tf.nn.relu(tf.nn.conv2d(hidden, kernel, strides=[1, 1, 1, 1], padding="VALID"))
        hidden = v1.nn.max_pool(hidden, 2, 2, "VALID")
        third = v1.get_variable("third", (3, 3, 64, 128), use_resource=True)
        hidden = tf.nn.relu(tf.nn.conv2d(hidden, third, strides=[1, 1, 1, 1], padding="VALID"))
        flat = tf.reshape(hidden, [BATCH, -1])
        return tf.matmul(flat, v1.get_variable("last", (int(flat.shape[1]), 10), use_resource=True))


def spec_of(address, elements):
    return fc.FreezeSpec.empty() if elements is None else {address: elements}


def half_of(load):
    return masks(load.shape)["half"]


def hold_by_constraint(keras, load):
    """The kernel constraint that people write; what it holds is set once the kernel is there."""
    mask = half_of(load)

    class Hold(keras.constraints.Constraint):
        def __call__(self, w):
            return tf.where(mask, self.held, w)

    return Hold()


def recipe(name, load, kernel):
    """(function of the gradient, function that runs after the step) of a recipe for a loop of one's own."""
    unchanged, nothing = (lambda gradient: gradient), (lambda: None)
    if name is None:
        return unchanged, nothing
    if name == "scatter back one by one":  # the published answer to problem 2
        positions = masks(load.shape)["2 elements"]
        held = [float(kernel.numpy()[position]) for position in positions]

        def scatter():
            for position, value in zip(positions, held):
                kernel.assign(tf.tensor_scatter_nd_update(tf.convert_to_tensor(kernel), [position], [value]))

        return unchanged, scatter
    mask = tf.constant(half_of(load))
    free = tf.constant((~half_of(load)).astype(np.float32))
    if name == "gradient times mask":
        return (lambda gradient: gradient * free), nothing
    held = tf.constant(kernel.numpy())
    return (
        lambda gradient: tf.where(mask, tf.zeros_like(gradient), gradient),
        lambda: kernel.assign(tf.where(mask, held, tf.convert_to_tensor(kernel))),
    )


def pruned(model):
    import tensorflow_model_optimization as tfmot

    schedule = tfmot.sparsity.keras.ConstantSparsity(0.5, 0, -1, 1)
    return tfmot.sparsity.keras.prune_low_magnitude(model, pruning_schedule=schedule)


def pruning_callbacks(by_hand):
    if by_hand != "tfmot":
        return []
    import tensorflow_model_optimization as tfmot

    return [tfmot.sparsity.keras.UpdatePruningStep()]


def packages():
    """{name: module} of each Keras at hand."""
    found = {"Keras 3" if is_keras_3(tf.keras) else "tf.keras": tf.keras}
    if importlib.util.find_spec("tf_keras") is not None:
        found["tf_keras"] = importlib.import_module("tf_keras")
    return found


def programs():
    """{name: program} of the TensorFlow at hand."""
    found = {}
    for name, keras in packages().items():
        for jit in ("auto", True, False) if is_keras_3(keras) else (False, True):
            if takes(keras.Model.compile, "jit_compile"):
                found["{}, fit, jit_compile={}".format(name, jit)] = Keras(keras, jit)
        if not takes(keras.Model.compile, "jit_compile"):
            found[name + ", fit"] = Keras(keras)
        found[name + ", tf.function"] = Loop(keras)
        if takes(tf.function, "jit_compile"):
            compiled = functools.partial(tf.function, jit_compile=True)
            found[name + ", tf.function, jit_compile=True"] = Loop(keras, compiled)
        found[name + ", op by op"] = Loop(keras, function=None)
        if is_tf_1():
            found[name + " in a graph, fit"] = KerasInGraph(keras)
    found["tf.train in a graph"] = Graph()
    return found


def takes(function, argument):
    return argument in inspect.signature(function).parameters


def is_tf_1():
    return tf.__version__.startswith("1.")


def is_keras_3(keras):
    return getattr(keras, "__version__", "2").startswith("3.")


def variants(program, load):
    """{name: arguments of make}, the plain one first."""
    found = {"plain": {}, "plain again": {}}
    for name, elements in masks(load.shape).items():
        found["freezecompat, " + name] = {"freeze": True, "elements": elements}
    for name in program.by_hand:
        found["by hand, " + name] = {"by_hand": name}
    if isinstance(program, Keras) and not is_keras_3(program.keras) and has_tfmot():
        found["tfmot, half"] = {"by_hand": "tfmot"}
    return found


def has_tfmot():
    return importlib.util.find_spec("tensorflow_model_optimization") is not None


def rows_of(name, program, load, rounds):
    """A row for each variant of a program."""
    running = {variant: program.make(load, **arguments) for variant, arguments in variants(program, load).items()}
    for variant, found in figures.alternate(running, rounds).items():
        target = load.target(program) if variant.startswith("freezecompat") else None
        found["milliseconds"] = round(found["milliseconds"] / load.steps, 3)
        yield figures.row("step", name, load.name, variant, target=target, unit="x plain", **found)


def main():
    known = programs()
    parser = figures.parser(__doc__)
    parser.add_argument("--program", nargs="+", metavar="NAME", help="those whose name has this text in it")
    parser.add_argument("--load", nargs="+", choices=("dense", "conv"), default=["dense", "conv"])
    parser.add_argument("--size", type=int, default=3000, help="rows and columns of the dense kernel")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    wanted = [name for name in known if options.program is None or any(text in name for text in options.program)]
    if not wanted:
        parser.error("no program is named so; there are: " + "; ".join(known))
    loads = [Load(name, options.size) for name in options.load]
    made = (rows_of(name, known[name], load, options.rounds) for name in wanted for load in loads)
    figures.show((found for rows in made for found in rows), options.json)


if __name__ == "__main__":
    main()
