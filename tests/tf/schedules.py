"""One schedule under every way to train, what it must freeze, and the state that a checkpoint holds."""

import numpy as np
import tensorflow as tf

import freezecompat as fc
import programs
import runtimes
from freezecompat.elements import smallest, where
from programs import BATCHES, MASKS, VALUES

v1 = tf.compat.v1

STEPS = 10
EPOCH = 5  # steps
AT_STEPS = (
    fc.Schedule()
    .freeze({"kernel": where("abs(w) < 0.3")}, every_steps=4)
    .thaw({"table": "all"}, step=3)
    .thaw({"bias": "all"}, step=6)
    .freeze({"kernel": where("w > 100")}, step=1)  # selects nothing
)
BY_STEPS = AT_STEPS.freeze({"mix": smallest(0.2)}, every_steps=EPOCH, growing=True)
BY_EPOCHS = AT_STEPS.freeze({"mix": smallest(0.2)}, every_epochs=1, growing=True)


def expected(masks, step, values):
    """The masks after what is due at a step, written out in numpy."""
    masks = {name: mask.copy() for name, mask in masks.items()}
    if step == 3:
        masks["table"][:] = False
    if step == 6:
        masks["bias"][:] = False
    if step % 4 == 0:
        masks["kernel"] |= np.abs(values["kernel"]) < 0.3
    if step % EPOCH == 0:
        mix = masks["mix"].reshape(-1)
        for index in np.argsort(np.where(mix, np.inf, np.abs(values["mix"]).reshape(-1)), kind="stable"):
            if mix.sum() < {5: 1, 10: 2}[step]:  # 0.2 and 0.4 of 6 elements
                mix[index] = True
    return masks


def first_masks():
    return {name: MASKS.get(name, np.zeros(VALUES[name].shape, bool)).copy() for name in VALUES}


class BesideTheOracle:
    """Compares the values seen after each step with the oracle, in which what the schedule freezes are constants."""

    def __init__(self, seen, oracle):
        self.seen, self.oracle, self.step = seen, oracle, 0
        self.masks = first_masks()
        oracle.set_frozen(self.masks)
        self.before = oracle.values()

    def after_step(self):
        """To be called after each step of the oracle: every byte is the same."""
        now, wanted, self.step = self.seen[self.step], self.oracle.values(), self.step + 1
        for name, mask in self.masks.items():
            where = "{} at step {}".format(name, self.step)
            assert now[name].tobytes() == wanted[name].tobytes(), where + " is not the oracle's"
            assert now[name][mask].tobytes() == self.before[name][mask].tobytes(), "a frozen element moved: " + where
            if name != "table":
                assert (now[name] != self.before[name])[~mask].all(), "a free element stands still: " + where
        self.masks, self.before = expected(self.masks, self.step, wanted), now
        self.oracle.set_frozen(self.masks)

    def loop(self):
        """Step by step; the masks at the end."""
        for step in range(len(self.seen)):
            self.oracle.train(step % EPOCH)
            self.after_step()
        return self.masks

    def fit(self):
        """By model.fit, whose graph of a step may be compiled to other roundings; the masks at the end."""
        fit_with(self.oracle, len(self.seen) // EPOCH, [after_each_batch(self.oracle.keras, self.after_step)])
        assert self.step == len(self.seen)
        return self.masks


def assert_frozen(frozen, masks):
    """`masks` of weights by their own names, without the layer's."""
    owned = {address.split("/")[-1]: mask.tolist() for address, mask in frozen.masks.items()}
    assert owned == {name.split("/")[-1]: mask.tolist() for name, mask in masks.items() if mask.any()}


def data():
    """The batches of one epoch in one piece."""
    return tuple(np.concatenate(parts) for parts in zip(*BATCHES[:EPOCH]))


def after_each_batch(keras, call):
    """A callback that calls a function."""

    class AfterEachBatch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            call()

    return AfterEachBatch()


def state(program):
    """All that a checkpoint holds: weights, slots and counts, in the order in which they are made."""
    variables = program.trained + programs.listed(program.optimizer)
    return [np.array(program.run(getattr(variable, "_value", variable))) for variable in variables]


def load(program, arrays):
    """Bring a program to the state of another one."""
    getattr(program.optimizer, "iterations", None)  # OptimizerV2 makes it when it is asked for
    programs.create_slots(program.optimizer, program.trained)
    variables = program.trained + programs.listed(program.optimizer)
    assert len(variables) == len(arrays)
    for variable, array in zip(variables, arrays):
        program.load(getattr(variable, "_value", variable), array)


def same(one, other):
    return len(one) == len(other) and all(a.tobytes() == b.tobytes() for a, b in zip(one, other))


def started(make, path=None):
    """A program with a Frozen of the first masks, or of a file."""
    program = make()
    options = {"optimizer": program.optimizer, "session": program.session}
    frozen = (
        fc.freeze(program.target, MASKS, **options) if path is None else fc.restore(program.target, path, **options)
    )
    program.finish()
    return program, frozen


def loop(program, run, steps):
    """Train step by step; the values after each."""
    seen = []
    for step in steps:
        program.train(step % EPOCH)
        run.step(session=program.session)
        seen.append(program.values())
    return seen


def fit(program, run, epochs, **options):
    """Train by model.fit, five batches an epoch; the values after each."""
    seen = []
    see = after_each_batch(program.keras, lambda: seen.append(program.values()))
    fit_with(program, epochs, [run, see], **options)
    return seen


def fit_with(program, epochs, callbacks, **options):
    options.update(batch_size=7, epochs=epochs, shuffle=False, verbose=0)
    program.model.fit(*data(), callbacks=callbacks, **options)


def rmsprop():
    """Its slot of a frozen element does not stay fresh: it begins at 1 and decays."""
    return v1.train.RMSPropOptimizer(0.01, momentum=0.5)


def keras_optimizer_modules():
    for package, keras, family, module in runtimes.keras_optimizer_modules():
        if package != "tf_keras" or not family:  # the code of tf.keras 2.15, where it runs
            yield package, keras, family, module


def loops():
    """{id: function of oracle=False that makes a program}, trained step by step; each counts its steps in another way."""
    found = {}
    if not runtimes.EAGER:
        for name, cls in (("graph-resource", programs.Graph), ("graph-reference", programs.ReferenceGraph)):
            found[name] = runtimes.program(cls, rmsprop)
        return found
    found["tf1-eager"] = runtimes.program(programs.Tape, rmsprop)
    for package, keras, family, module in keras_optimizer_modules():
        if package == "tf_keras":
            continue
        make = runtimes.keras_optimizers(module)["adam"]
        found["{}-{}function".format(package, family)] = runtimes.program(programs.KerasFunction, make, keras=keras)
    return found


def fits():
    """{id: function of oracle=False that makes a program}, trained by model.fit."""
    found = {}
    for package, keras, family, module in keras_optimizer_modules():
        make = runtimes.keras_optimizers(module)["adam"]
        found["{}-{}fit".format(package, family)] = runtimes.program(programs.KerasModel, make, keras=keras)
    return found
