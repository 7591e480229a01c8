"""One small training program under every API, plain or as the oracle.

The oracle is the same program with each weight written `where(mask, held, v)`, `v` a plain variable of the weight's shape,
and a look-up at `i` written `where(gather(mask, i), gather(held, i), gather(v, i))`. Its frozen elements are constants, so
what its free elements do is what they must do under a freeze.
"""

import re

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
STEPS = 10

_random = np.random.RandomState(0)
VALUES = {
    "kernel": _random.uniform(-1, 1, (4, 3)).astype("f4"),
    "bias": _random.uniform(-1, 1, (3,)).astype("f4"),
    "mix": _random.uniform(-1, 1, (3, 2)).astype("f4"),
    "table": _random.uniform(-1, 1, (7, 2)).astype("f4"),
}
VALUES["kernel"][1, 2] = -0.0
MASKS = {
    "kernel": np.array([[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]], bool),
    "bias": np.array([0, 1, 0], bool),
    "table": np.array([[1, 1], [0, 0], [0, 1], [0, 0], [0, 0], [0, 0], [1, 0]], bool),
}
# Four features and one row number of the table: rows twice in a batch, one row in every other batch, row 6 in none.
ROWS = np.array([[0, 3, 2, 1, 3, 4, 1], [5, 1, 0, 3, 0, 2, 3]])
BATCHES = [
    (
        np.concatenate([_random.uniform(-1, 1, (7, 4)), ROWS[step % 2][:, None]], axis=1).astype("f4"),
        _random.uniform(-1, 1, (7, 2)).astype("f4"),
    )
    for step in range(STEPS)
]


def forward(read, look_up, inputs):
    hidden = tf.tanh(tf.matmul(inputs[:, :4], read("kernel")) + read("bias"))
    return tf.matmul(hidden, read("mix")) + look_up("table", tf.cast(inputs[:, 4], tf.int32))


def mse(y, prediction):
    return tf.reduce_mean(tf.square(prediction - y))


class Plain:
    """Weights as they are."""

    def __init__(self, variables):
        self.variables = variables

    def read(self, name):
        return tf.convert_to_tensor(self.variables[name])

    def look_up(self, name, rows):
        return tf.gather(self.variables[name], rows)

    def values(self, run):
        return {name: np.array(run(variable)) for name, variable in self.variables.items()}

    initializers = ()


class Oracle(Plain):
    """Weights of which some elements are constants."""

    def __init__(self, variables):
        super().__init__(variables)
        graph = {} if tf.executing_eagerly() else {"collections": [], "use_resource": True}
        make = tf.Variable if tf.executing_eagerly() else v1.Variable
        self.masks = {n: make(np.zeros(a.shape, bool), trainable=False, **graph) for n, a in VALUES.items()}
        self.held = {n: make(np.zeros_like(a), trainable=False, **graph) for n, a in VALUES.items()}

    @property
    def initializers(self):
        return [v.initializer for v in list(self.masks.values()) + list(self.held.values())]

    def read(self, name):
        mask, held = (tf.convert_to_tensor(v[name]) for v in (self.masks, self.held))
        return v1.where(mask, held, super().read(name))

    def look_up(self, name, rows):
        mask, held = (tf.gather(tf.convert_to_tensor(v[name]), rows) for v in (self.masks, self.held))
        return v1.where(mask, held, super().look_up(name, rows))

    def values(self, run):
        plain = super().values(run)
        return {name: np.where(run(self.masks[name]), run(self.held[name]), plain[name]) for name in plain}

    def set_frozen(self, masks, run, load, slots):
        """From the next step on `masks` are the constants; slot entries of what changes are those of a fresh optimizer."""
        present = self.values(run)
        for name, variable in self.variables.items():
            mask = masks.get(name, np.zeros(VALUES[name].shape, bool))
            changed = mask ^ np.array(run(self.masks[name]))
            load(variable, present[name])
            load(self.held[name], present[name])
            load(self.masks[name], mask)
            for slot, fresh in slots(variable):
                load(slot, np.where(changed, np.float32(fresh), run(slot)).astype("f4"))


def of_shape(optimizer, shape):
    """The variables of that shape that an optimizer lists, in its order."""
    return [variable for variable in listed(optimizer) if tuple(variable.shape) == tuple(shape)]


def listed(optimizer):
    """The variables that an optimizer lists, of two alike in one order: `tf.train` puts RMSProp_10 before RMSProp_9."""
    found = optimizer.variables() if callable(optimizer.variables) else optimizer.variables
    return sorted(found, key=_parts_of_name) if isinstance(optimizer, v1.train.Optimizer) else list(found)


def _parts_of_name(variable):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", variable.name)]


def create_slots(optimizer, variables):
    """Let an optimizer make its slots without a step."""
    if hasattr(optimizer, "_per_graph_state"):  # contrib.optimizer_v2
        strategy = tf.distribute.get_strategy()
        devices = strategy.extended.non_slot_devices(variables)
        state = optimizer._get_or_create_state(variables)
        optimizer._create_vars(variables, state._copy_with_dynamic_hyper(optimizer._hyper, strategy, devices))
    elif isinstance(optimizer, v1.train.Optimizer):
        optimizer._prepare()
        optimizer._create_slots(variables)
    elif hasattr(optimizer, "build"):
        optimizer.build(variables)
    else:
        optimizer._create_hypers()
        optimizer._create_slots(variables)


class Program:
    """A training program; a subclass says how variables are made and a step is taken."""

    session = None

    def __init__(self, optimizer, oracle=False, fresh=None):
        """`fresh` makes an optimizer of the same options: in eager mode the oracle asks that for its slots."""
        self.optimizer = optimizer
        self.fresh = fresh
        self.weights = (Oracle if oracle else Plain)(self.make_variables())
        self.build()

    def make_variables(self):
        return {name: tf.Variable(array, name=name) for name, array in VALUES.items()}

    def build(self):
        pass

    def finish(self):
        """What must wait for the first freeze."""

    @property
    def target(self):
        """What fc.freeze is given."""
        return dict(self.weights.variables)

    @property
    def trained(self):
        """The variables, as the training loop gives them to the optimizer."""
        return list(self.weights.variables.values())

    def look_up(self, name, rows):
        return self.weights.look_up(name, rows)

    def loss_of(self, inputs, y):
        return mse(y, forward(self.weights.read, self.look_up, inputs))

    def batch(self, step):
        return BATCHES[step]

    def train(self, step):
        """Take step number `step`; gives the loss, as its API tells it."""
        raise NotImplementedError

    def run(self, variable):
        return variable.numpy()

    def load(self, variable, value):
        variable.assign(value)

    def values(self):
        return self.weights.values(self.run)

    def stored(self):
        """What the variables themselves hold: in an oracle's frozen elements, what steps with a gradient of 0 left there."""
        return {name: np.array(self.run(variable)) for name, variable in self.weights.variables.items()}

    def slots(self, variable):
        """(slot, value of a fresh one) of all that the optimizer remembers for a weight; each weight has its own shape."""
        optimizer = getattr(self.optimizer, "optimizer", self.optimizer)  # out of Keras' TFOptimizer
        slots = of_shape(optimizer, variable.shape)
        if self.session:
            return [(slot, self.run(slot.initializer.inputs[1])) for slot in slots]
        fresh = self.fresh()
        create_slots(fresh, self.trained)
        return list(zip(slots, [self.run(slot) for slot in of_shape(fresh, variable.shape)]))

    def set_frozen(self, masks):
        self.weights.set_frozen(masks, self.run, self.load, self.slots)


class Tape(Program):
    """A hand-written loop in eager mode."""

    def build(self):
        self.step_function = self.one_step

    def one_step(self, inputs, y):
        with tf.GradientTape() as tape:
            loss = self.loss_of(inputs, y)
        variables = list(self.weights.variables.values())
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def train(self, step):
        inputs, y = self.batch(step)
        return self.step_function(tf.constant(inputs), tf.constant(y))


class Function(Tape):
    """The same in a tf.function."""

    def build(self):
        self.step_function = tf.function(self.one_step)


class TapeMinimize(Tape):
    """`minimize` of a tf.train optimizer in eager mode."""

    def one_step(self, inputs, y):
        variables = list(self.weights.variables.values())
        losses = []

        def loss():
            losses.append(self.loss_of(inputs, y))
            return losses[-1]

        self.optimizer.minimize(loss, var_list=variables)
        return losses[0]


class Graph(Program):
    """A graph with a Session, resource variables."""

    use_resource = True

    def make_variables(self):
        return {name: v1.Variable(a, name=name, use_resource=self.use_resource) for name, a in VALUES.items()}

    def build(self):
        self.inputs = v1.placeholder(tf.float32, [None, 5])
        self.y = v1.placeholder(tf.float32, [None, 2])
        self.loss = self.loss_of(self.inputs, self.y)
        self.train_op = None
        self.session = v1.Session()

    def finish(self):
        """Build the train op: after the first freeze, as a user must."""
        self.global_step = v1.train.get_or_create_global_step()
        self.train_op = self.minimize()
        self.session.run(v1.global_variables_initializer())
        for initializer in self.weights.initializers:
            self.session.run(initializer)

    def minimize(self):
        return self.optimizer.minimize(self.loss, global_step=self.global_step)

    def train(self, step):
        if self.train_op is None:
            self.finish()
        inputs, y = self.batch(step)
        return self.session.run([self.loss, self.train_op], {self.inputs: inputs, self.y: y})[0]

    def run(self, variable):
        return self.session.run(variable)

    def load(self, variable, value):
        self.session.run(variable.initializer, {variable.initializer.inputs[1]: value})

    def set_frozen(self, masks):
        if self.train_op is None:
            self.finish()
        super().set_frozen(masks)


class ReferenceGraph(Graph):
    """The same with TF1's reference variables."""

    use_resource = False


class OrderedGraph(Graph):
    """The step waits for the gradients: contrib's AdamW and MomentumW else decay a weight while it is being read."""

    def minimize(self):
        pairs = self.optimizer.compute_gradients(self.loss, self.trained)
        with tf.control_dependencies([gradient for gradient, _ in pairs]):
            return self.optimizer.apply_gradients(pairs, global_step=self.global_step)


class Multiplied:
    """The table is multiplied instead of looked up: for optimizers that refuse IndexedSlices."""

    def look_up(self, name, rows):
        table = self.weights.read(name)
        return tf.matmul(tf.one_hot(rows, table.shape[0]), table)


class DenseGraph(Multiplied, OrderedGraph):
    """No weight is looked up."""


class Noisy:
    """Half of what is looked up is dropped, by chance."""

    def look_up(self, name, rows):
        return tf.nn.dropout(super().look_up(name, rows), rate=0.5)


def noisy(program):
    """The class of a program with such chance in it."""
    return type("Noisy" + program.__name__, (Noisy, program), {})


class KerasModel(Program):
    """A Keras model of one layer, trained by train_on_batch."""

    run_eagerly = False

    def __init__(self, optimizer, oracle=False, fresh=None, keras=None):
        self.keras = keras
        super().__init__(optimizer, oracle, fresh)

    def make_variables(self):
        owner = self

        class Net(self.keras.layers.Layer):
            def build(self, shape):
                self.made = {}
                for name, array in VALUES.items():
                    weight = self.add_weight(name=name, shape=array.shape, initializer="zeros", trainable=True)
                    setattr(self, name, weight)
                super().build(shape)

            def call(self, inputs):
                return forward(owner.weights.read, owner.look_up, inputs)

            def compute_output_shape(self, shape):
                return (shape[0], 2)

        layer = Net(name="net")
        layer.build((None, 5))
        layer.set_weights([VALUES[name] for name in VALUES])
        self.layer = layer
        return {name: getattr(getattr(layer, name), "_value", getattr(layer, name)) for name in VALUES}

    def build(self):
        inputs = self.keras.layers.Input((5,))
        self.model = self.keras.Model(inputs, self.layer(inputs))
        extra = {"run_eagerly": True} if self.run_eagerly else {}
        self.model.compile(optimizer=self.optimizer, loss=mse, **extra)
        self.optimizer = self.model.optimizer
        if not tf.executing_eagerly():
            self.session = v1.keras.backend.get_session()
            for initializer in self.weights.initializers:
                self.session.run(initializer)

    @property
    def target(self):
        return self.model

    @property
    def trained(self):
        return self.model.trainable_variables

    def train(self, step):
        return self.model.train_on_batch(*self.batch(step))

    def run(self, variable):
        return self.session.run(variable) if self.session else getattr(variable, "_value", variable).numpy()

    def load(self, variable, value):
        if self.session:
            self.session.run(variable.initializer, {variable.initializer.inputs[1]: value})
        else:
            variable.assign(value)


class KerasEager(KerasModel):
    """run_eagerly=True."""

    run_eagerly = True


class KerasFit(KerasModel):
    """fit, one batch a call."""

    def train(self, step):
        inputs, y = self.batch(step)
        return self.model.fit(inputs, y, batch_size=len(y), epochs=1, shuffle=False, verbose=0).history


class KerasTape(KerasModel):
    """A hand-written loop over a Keras model."""

    def build(self):
        super().build()
        self.step_function = self.one_step

    def one_step(self, inputs, y):
        with tf.GradientTape() as tape:
            loss = mse(y, self.model(inputs, training=True))
            if hasattr(self.optimizer, "scale_loss"):  # Keras 3's
                loss = self.optimizer.scale_loss(loss)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    def train(self, step):
        inputs, y = self.batch(step)
        return self.step_function(tf.constant(inputs), tf.constant(y))


class KerasFunction(KerasTape):
    """The same in a tf.function."""

    def build(self):
        super().build()
        self.step_function = tf.function(self.one_step)


class KerasXla(KerasTape):
    """The same in a tf.function that XLA compiles."""

    def build(self):
        super().build()
        self.step_function = tf.function(self.one_step, jit_compile=True)


class DenseKerasFunction(Multiplied, KerasFunction):
    """No weight is looked up."""


class KerasMinimize(KerasFunction):
    """`minimize` of a Keras optimizer."""

    def one_step(self, inputs, y):
        variables = self.model.trainable_variables
        self.optimizer.minimize(lambda: mse(y, self.model(inputs, training=True)), variables)
