"""Steps with gradients that are given: without a forward pass any gradient of any weight can be tried.

The oracle is the same loop, in which the gradient of a frozen element is 0 (what `where(mask, held, v)` gives to `v`), and
what is read is `where(mask, held, v)`.
"""

import contextlib
import functools
import re

import numpy as np
import tensorflow as tf

import runtimes
from programs import create_slots, of_shape

v1 = tf.compat.v1


def refused(error):
    """ "refused", and why: one line of TensorFlow's words, without the names of ops, dtypes and files after them."""
    lines = str(error).strip().splitlines() or [""]
    line = lines[-1] if lines[0].startswith("in user code") else lines[0]  # autograph puts its own before them
    kind = type(error).__name__
    words = re.split(r" to support Op| for node| used by| \(defined|\[|\{", line.replace(kind + ":", "", 1))[0]
    words = words.strip(" .,:")
    return ": ".join(filter(None, ["refused", kind, words]))


class Rows:
    """A gradient as IndexedSlices."""

    def __init__(self, values, indices, dtype="int32"):
        self.values = np.asarray(values)
        self.indices = np.asarray(indices, dtype)

    def zero_where(self, mask):
        return Rows(zero_where(mask[self.indices], self.values), self.indices, self.indices.dtype)


def zero_where(mask, values):
    zeroed = np.array(values)
    zeroed[mask] = 0
    return zeroed


class Steps:
    """An optimizer, and the weights that it steps; a subclass says how."""

    session = None

    def __init__(self, make, weights, gradients):
        """`gradients`: those of the first step, of which each later one has the kinds."""
        self.make = make
        self.optimizer = make()
        self.start = weights
        self.gradients = gradients
        self.variables = {
            name: self.variable(array, name.replace(" ", "_").replace(",", "")) for name, array in weights.items()
        }

    def variable(self, array, name):
        return tf.Variable(array, name=name)

    def finish(self):
        """What must wait for the first freeze."""

    def step(self, gradients):
        pairs = [(self._tensor(gradients[name], variable), variable) for name, variable in self.variables.items()]
        self.optimizer.apply_gradients(pairs)

    def _tensor(self, gradient, variable):
        if gradient is None:
            return None
        if isinstance(gradient, Rows):
            shape = tf.constant([int(size) for size in variable.shape], tf.int64)
            return tf.IndexedSlices(tf.constant(gradient.values), tf.constant(gradient.indices), shape)
        return tf.constant(gradient)

    def values(self):
        return dict(zip(self.variables, self.run(list(self.variables.values()))))

    def run(self, variables):
        return [np.array(variable.numpy()) for variable in variables]

    def load(self, variables, values):
        for variable, value in zip(variables, values):
            variable.assign(value)

    def slot_values(self):
        """{weight's name: values} of what the optimizer remembers of each weight that has a gradient."""
        stepped = [name for name, gradient in self.gradients.items() if gradient is not None]
        return {name: self.run(slots_of(self.optimizer, self.variables[name])) for name in stepped}

    def slots(self):
        """[(weight's name, slot, value of a fresh one)] of the weights that have a gradient; others may have no slots."""
        fresh = self.make()
        stepped = {n: v for n, v in self.variables.items() if self.gradients[n] is not None}
        create_slots(fresh, list(stepped.values()))
        return [
            (name, slot, np.array(anew.numpy()))
            for name, variable in stepped.items()
            for slot, anew in zip(slots_of(self.optimizer, variable), slots_of(fresh, variable))
        ]


def slots_of(optimizer, variable):
    if hasattr(optimizer, "get_slot_names"):
        return [optimizer.get_slot(variable, name) for name in sorted(optimizer.get_slot_names())]
    alike = [v for v in of_shape(optimizer, variable.shape) if v.dtype == variable.dtype.base_dtype]
    return [v for v in alike if not v.name.startswith(("iteration", "learning_rate"))]


class Traced(Steps):
    """In a tf.function."""

    def finish(self):
        self._function = tf.function(self._traced)

    def _traced(self, dense, rows):
        pairs = []
        for name, variable in self.variables.items():
            gradient = dense.get(name)
            if name in rows:
                gradient = tf.IndexedSlices(rows[name][0], rows[name][1], tf.constant(variable.shape.as_list()))
            pairs.append((gradient, variable))
        self.optimizer.apply_gradients(pairs)

    def step(self, gradients):
        given = {name: gradient for name, gradient in gradients.items() if gradient is not None}
        rows = {n: g for n, g in given.items() if isinstance(g, Rows)}
        self._function(
            {n: tf.constant(g) for n, g in given.items() if n not in rows},
            {n: (tf.constant(g.values), tf.constant(g.indices)) for n, g in rows.items()},
        )


class InGraph(Steps):
    """In a TF1 graph, resource variables."""

    use_resource = True

    def variable(self, array, name):
        return v1.Variable(array, name=name, use_resource=self.use_resource)

    def finish(self):
        self.fed = []
        pairs = []
        for name, variable in self.variables.items():
            pairs.append((self._placeholder(name, self.gradients[name], variable), variable))
        self.train_op = self.optimizer.apply_gradients(pairs)
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True  # a third of the time
        self.session = v1.Session(config=config)
        self.session.run(v1.global_variables_initializer())

    def _placeholder(self, name, gradient, variable):
        if gradient is None:
            return None
        if isinstance(gradient, Rows):
            values = v1.placeholder(gradient.values.dtype, (None,) + gradient.values.shape[1:])
            indices = v1.placeholder(gradient.indices.dtype, [None])
            self.fed += [(values, lambda given: given[name].values), (indices, lambda given: given[name].indices)]
            return tf.IndexedSlices(values, indices, tf.constant(variable.shape.as_list(), tf.int64))
        dense = v1.placeholder(gradient.dtype, gradient.shape)
        self.fed.append((dense, lambda given: given[name]))
        return dense

    def step(self, gradients):
        self.session.run(self.train_op, {tensor: value(gradients) for tensor, value in self.fed})

    def run(self, variables):
        return [np.array(value) for value in self.session.run(list(variables))]

    def load(self, variables, values):
        initializers = [variable.initializer for variable in variables]
        self.session.run(initializers, {op.inputs[1]: value for op, value in zip(initializers, values)})

    def slots(self):
        found = [
            (name, slot)
            for name, v in self.variables.items()
            if self.gradients[name] is not None
            for slot in slots_of(self.optimizer, v)
        ]
        fresh = self.run([slot.initializer.inputs[1] for _, slot in found])
        return [(name, slot, value) for (name, slot), value in zip(found, fresh)]


class InReferenceGraph(InGraph):
    """The same with TF1's reference variables."""

    use_resource = False


def place_of_its_own():
    """A context in which a program does no harm to another: a graph, where graphs are."""
    return contextlib.nullcontext() if runtimes.EAGER else v1.Graph().as_default()


class Oracle:
    """The loop in which frozen elements are constants, by hand."""

    def __init__(self, steps, masks):
        self.steps = steps
        steps.finish()
        self.masks = {n: masks.get(n, np.zeros(array.shape, bool)) for n, array in steps.start.items()}
        self.held = steps.values()

    def step(self, gradients):
        self.steps.step(
            {
                name: (
                    gradient
                    if gradient is None
                    else (
                        gradient.zero_where(self.masks[name])
                        if isinstance(gradient, Rows)
                        else zero_where(self.masks[name], gradient)
                    )
                )
                for name, gradient in gradients.items()
            }
        )

    def values(self):
        found = self.steps.values()
        for name, held in self.held.items():
            found[name][self.masks[name]] = held[self.masks[name]]
        return found

    def set_frozen(self, masks):
        """From the next step on `masks` are the constants; what changes gets the slots of a fresh optimizer."""
        self.held = self.values()
        self.steps.load([self.steps.variables[name] for name in self.held], self.held.values())
        before, self.masks = self.masks, {n: masks.get(n, np.zeros(mask.shape, bool)) for n, mask in self.masks.items()}
        slots = self.steps.slots()
        values = self.steps.run([slot for _, slot, _ in slots])
        for (name, _, fresh), value in zip(slots, values):
            changed = before[name] ^ self.masks[name]
            value[changed] = fresh[changed]
        self.steps.load([slot for _, slot, _ in slots], values)


def loops(every_option=False):
    """{id: function of weights and gradients that makes Steps} of this runtime and mode.

    Without `every_option` a few of each; of the second way to train, which shares most code with the first, one or two.
    """
    first, second = (Steps, Traced) if runtimes.EAGER else (InGraph, InReferenceGraph)
    found = {}
    for name, make in runtimes.optimizers().items():
        if every_option or runtimes.EAGER or not name.endswith(("sgd", "momentum")):
            found["{} {}".format(first.__name__, name)] = functools.partial(first, make)
        if second is InReferenceGraph and not name.startswith("tf.train"):
            continue  # no Keras makes a slot of a reference variable
        if every_option or name == "tf.train adam" or (name == "tf.train ftrl" and not runtimes.EAGER):
            found["{} {}".format(second.__name__, name)] = functools.partial(second, make)
    return found
