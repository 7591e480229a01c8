"""Ways to write a training loop, each with the optimizers of every Keras at hand."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import MASKS, SPEC, X, Y, assert_all_moved, assert_held_and_free_moved, fit, values

KITS = kits.kits()


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def loss_of(model, x=X, y=Y):
    return tf.reduce_mean(tf.square(model(tf.constant(x), training=True) - y))


def persistent_tape(kit, model, optimizer):
    """Both gradients of one tape, the second step with that of another loss."""
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_of(model)
        other = tf.reduce_sum(tf.abs(model(tf.constant(X))))
    for one in (loss, other):
        optimizer.apply_gradients(zip(tape.gradient(one, model.trainable_variables), model.trainable_variables))


def minimize(kit, model, optimizer):
    if kit.name == "keras3":
        return persistent_tape(kit, model, optimizer)  # it has no minimize
    optimizer.minimize(lambda: loss_of(model), model.trainable_variables)


class Wrapper:
    """A user's own class around an optimizer, which averages the gradients of two batches."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self, model):
        gradients = []
        for part in (slice(0, 3), slice(3, 6)):
            with tf.GradientTape() as tape:
                loss = loss_of(model, X[part], Y[part])
            gradients.append(tape.gradient(loss, model.trainable_variables))
        mean = [(one + other) / 2 for one, other in zip(*gradients)]
        self.optimizer.apply_gradients(zip(mean, model.trainable_variables))


def users_wrapper(kit, model, optimizer):
    Wrapper(optimizer).step(model)


def loop_in_a_function(kit, model, optimizer):
    @tf.function
    def three_steps():
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                loss = loss_of(model)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    three_steps()


@pytest.mark.parametrize("loop", [persistent_tape, minimize, users_wrapper, loop_in_a_function])
def test_a_hand_written_loop(kit, loop):
    """Frozen warm, thawed, frozen again: exact after each step, and every free element moves."""
    model, optimizer = kit.model(), kit.adam()
    frozen = fc.freeze(model, fc.FreezeSpec.empty(), optimizer=optimizer)
    kits.tape_step(model, optimizer)  # a loop in a tf.function can make no variables
    for held in ({}, MASKS, {}, MASKS):
        frozen.freeze(SPEC) if held else frozen.thaw()
        before = values(model)
        loop(kit, model, optimizer)
        assert_held_and_free_moved(before, values(model), held)
    frozen.verify()


def test_a_train_step_of_the_users_own(kit):
    """train_step overridden: frozen before and after the first fit."""
    if not hasattr(kit.keras.Model, "train_step"):
        pytest.skip("this Keras has no train_step")

    class Own(kit.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            return {"loss": loss}

    stock = kit.model()
    model = Own(stock.inputs, stock.outputs)
    model.compile(optimizer=kit.adam(), loss="mse")
    fit(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.thaw()
    before = values(model)
    fit(model)
    assert_all_moved(before, values(model))


def test_two_optimizers_in_turn(kit):
    """A GAN: each model has its optimizer and its freeze, and a step of one leaves the other alone."""
    generator, judge = kit.model(), kit.keras.Sequential([kit.keras.layers.InputLayer((2,)), kit.keras.layers.Dense(1)])
    optimizers = [kit.adam(), kit.adam()]
    masks = {"dense": np.array([[True], [False]])}
    (kernel, _) = judge.weights
    frozen = fc.freeze(generator, SPEC, optimizer=optimizers[0])
    of_judge = fc.freeze(judge, [(getattr(kernel, "_value", kernel), (0, 0))], optimizer=optimizers[1])
    for _ in range(2):
        for model, other, optimizer, sign in (
            (generator, judge, optimizers[0], 1),
            (judge, generator, optimizers[1], -1),
        ):
            before, untouched = values(model), values(other)
            with tf.GradientTape() as tape:
                loss = sign * tf.reduce_mean(tf.square(judge(generator(tf.constant(X))) - 1))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            if model is generator:
                assert_held_and_free_moved(before, values(model), MASKS)
            else:
                assert_held_and_free_moved(before, values(model), masks, addresses=["dense", "bias"])
            assert [a.tobytes() for a in values(other)] == [a.tobytes() for a in untouched]
    frozen.verify()
    of_judge.verify()


@pytest.mark.parametrize("kit", sorted(name for name in KITS if name == "keras3"))
def test_freeze_between_the_micro_steps_of_an_accumulation(kit):
    """What has been accumulated of an element is dropped when it is frozen, and when it is thawed."""
    kit = KITS[kit]
    model, optimizer = kit.model(), kit.module.SGD(learning_rate=0.1, gradient_accumulation_steps=2)
    frozen = fc.freeze(model, fc.FreezeSpec.empty(), optimizer=optimizer)
    mask = MASKS["hidden/kernel"]
    ones = [tf.ones(array.shape) for array in kits.WEIGHTS]
    for held, change in ((MASKS, frozen.freeze), ({}, frozen.thaw)):
        before = values(model)
        optimizer.apply_gradients(zip(ones, model.trainable_variables))
        change(SPEC)
        optimizer.apply_gradients(zip(ones, model.trainable_variables))
        after = values(model)
        assert_held_and_free_moved(before, after, held)
        moved = (before[0] - after[0])[mask]
        np.testing.assert_allclose(moved, 0 if held else 0.05, atol=1e-7)  # half: of the second gradient alone
    frozen.verify()


@pytest.mark.parametrize("jit", [True, "auto"])
@pytest.mark.parametrize("kit", sorted(KITS))
def test_with_and_without_xla(kit, jit):
    """jit_compile on and auto (off is what the other tests have): frozen elements hold, the others train."""
    kit = KITS[kit]
    if kit.name not in ("keras3", "tf.keras") or (jit == "auto" and kit.name != "keras3"):
        pytest.skip("one new and one old Keras will do")
    try:
        model = kit.compiled(jit_compile=jit)
    except TypeError:
        pytest.skip("this Keras has no jit_compile")
    fit(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
