"""A model that replaces or adapts a frozen weight is refused; what leaves the variable where it is stays held."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import MASKS, SPEC, X, Y, assert_held_and_free_moved, fit, values

KITS = kits.kits()
LAYERS_KERAS_3_ALONE_HAS = pytest.mark.skipif("keras3" not in KITS, reason="Keras 3 quantizes and adapts layers")


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def hidden(model):
    return model.layers[-2]


def new_head(kit, model):
    model.pop()
    model.add(kit.keras.layers.Dense(2, name="out"))


def assert_refused(model, frozen, address, train):
    """Before a training and in verify(), freeze(), attach(), hold() and save(); report() says it, and raises nothing."""
    with pytest.raises(fc.WeightReplaced, match=address + r": .*Call release\(\).*freeze again after"):
        train()
    with pytest.raises(fc.WeightReplaced, match=address):
        frozen.verify()
    with pytest.raises(fc.WeightReplaced, match=address):
        frozen.freeze({address: "all"})
    with pytest.raises(fc.WeightReplaced, match=address):
        frozen.attach(model.optimizer)
    with pytest.raises(fc.WeightReplaced, match=address):
        with frozen.hold():
            pass
    with pytest.raises(fc.WeightReplaced, match=address):
        frozen.save("never-written.npz")
    assert [note for note in frozen.report().notes if note.startswith(address + ": ")]


def test_a_new_layer_in_the_place_of_a_frozen_one_is_refused(kit):
    """From compile on; after release() the new layer can be frozen, and is held."""
    model = kit.compiled(kit.momentum())
    with fc.freeze(model, {"out/kernel": [(0, 1)]}) as frozen:
        fit(model)
        new_head(kit, model)
        with pytest.raises(fc.WeightReplaced, match="out/kernel: .*pop and add"):
            model.compile(optimizer=kit.momentum(), loss="mse")
        assert_refused(model, frozen, "out/kernel", lambda: model.train_on_batch(X, Y))
    with fc.freeze(model, {"out/kernel": [(0, 1)]}) as frozen:
        before = values(model)
        model.train_on_batch(X, Y)
        assert_held_and_free_moved(before, values(model), {"out/kernel": np.array([[0, 1], [0, 0], [0, 0]], bool)})
        frozen.verify()


def test_what_was_not_frozen_may_be_replaced_and_is_not_frozen_by_its_old_name(kit):
    model = kit.compiled(kit.sgd())
    frozen = fc.freeze(model, SPEC)
    new_head(kit, model)
    model.compile(optimizer=kit.sgd(), loss="mse")
    before = values(model)
    model.train_on_batch(X, Y)
    assert values(model)[0][MASKS["hidden/kernel"]].tobytes() == before[0][MASKS["hidden/kernel"]].tobytes()
    frozen.verify()
    with pytest.raises(fc.WeightReplaced, match="out/kernel"):
        frozen.freeze({"out/kernel": "all"})
    frozen.release()


def test_a_thaw_gives_up_the_replaced_weight_alone(kit):
    model = kit.compiled(kit.momentum())
    frozen = fc.freeze(model, dict(SPEC, **{"out/kernel": "all"}))
    fit(model)
    new_head(kit, model)
    frozen.thaw({"out/kernel": "all"})
    model.compile(optimizer=kit.momentum(), loss="mse")
    before = values(model)
    model.train_on_batch(X, Y)
    assert_held_and_free_moved(before[:1], values(model)[:1], MASKS)
    frozen.verify()
    frozen.release()


def test_another_variable_in_the_layer_is_refused(kit):
    if kit.name == "keras3":
        pytest.skip("Keras 3 refuses it itself")
    model = kit.compiled(kit.sgd())
    frozen = fc.freeze(model, SPEC)
    hidden(model).kernel = tf.Variable(hidden(model).kernel)
    assert_refused(model, frozen, "hidden/kernel", lambda: fit(model))
    frozen.release()


@LAYERS_KERAS_3_ALONE_HAS
@pytest.mark.parametrize(
    "change, why",
    [
        (lambda model: hidden(model).quantize("int8"), "quantize"),
        (lambda model: model.quantize("int8"), "quantize"),
        (lambda model: hidden(model).enable_lora(2), "enable_lora"),
    ],
    ids=["layer.quantize", "model.quantize", "enable_lora"],
)
def test_a_quantized_or_adapted_kernel_is_refused(change, why):
    model = KITS["keras3"].compiled(KITS["keras3"].sgd())
    frozen = fc.freeze(model, SPEC)
    change(model)
    with pytest.raises(fc.WeightReplaced, match=why):
        frozen.verify()
    assert_refused(model, frozen, "hidden/kernel", lambda: model.compile(optimizer="sgd", loss="mse"))
    frozen.release()


@LAYERS_KERAS_3_ALONE_HAS
def test_the_bias_of_an_adapted_layer_is_held():
    model = KITS["keras3"].model()
    frozen = fc.freeze(model, {"hidden/bias": [(1,)]})
    hidden(model).enable_lora(2)
    model.compile(optimizer="sgd", loss="mse")
    bias = np.array(hidden(model).bias)
    model.train_on_batch(X, Y)
    now = np.array(hidden(model).bias)
    assert now[1].tobytes() == bias[1].tobytes() and (now != bias)[[0, 2]].all()
    frozen.verify()
    frozen.release()


def adapted():
    """The kernel of `hidden` is a base that Keras does not train, plus the product of two factors that it does."""
    model = KITS["keras3"].model()
    hidden(model).enable_lora(2)
    model.compile(optimizer="sgd", loss="mse")
    return model


@LAYERS_KERAS_3_ALONE_HAS
def test_the_kernel_of_a_layer_that_was_adapted_before_is_refused():
    """What the layer computes with, and saves under that name, would move though the variable does not."""
    model = adapted()
    with pytest.raises(fc.ArgumentError, match="hidden/kernel: .*enable_lora.*Freeze lora_kernel_a and lora_kernel_b"):
        fc.freeze(model, {"hidden/kernel": [(0, 0)]})
    with fc.freeze(model, fc.FreezeSpec.empty()) as frozen:
        with pytest.raises(fc.ArgumentError, match="hidden/kernel: .*enable_lora"):
            frozen.freeze({"hidden/kernel": [(0, 0)]})


@LAYERS_KERAS_3_ALONE_HAS
@pytest.mark.parametrize("factors", [["lora_kernel_a", "lora_kernel_b"], []], ids=["both factors", "neither"])
def test_frozen_factors_hold_the_kernel_of_an_adapted_layer(factors):
    model = adapted()
    frozen = fc.freeze(model, dict({"hidden/" + name: "all" for name in factors}, **{"out/kernel": [(0, 1)]}))
    kernel, bias = [np.array(value) for value in (hidden(model).kernel, hidden(model).bias)]
    model.train_on_batch(X, Y)
    model.train_on_batch(X, Y)
    assert (np.array(hidden(model).kernel).tobytes() == kernel.tobytes()) == bool(factors)
    assert (np.array(hidden(model).bias) != bias).all()
    frozen.verify()
    frozen.release()


@pytest.mark.parametrize("compiled", [False, True], ids=["as it is", "compiled anew"])
def test_trainable_off_and_on_and_clear_session_leave_it_held(kit, compiled):
    model = kit.compiled(kit.momentum())
    frozen = fc.freeze(model, SPEC)
    for trainable in (False, True):
        hidden(model).trainable = trainable
        kit.keras.backend.clear_session()
        if compiled:
            model.compile(optimizer=kit.momentum(), loss="mse")
        before = values(model)
        model.train_on_batch(X, Y)
        mask = MASKS["hidden/kernel"]
        assert values(model)[0][mask].tobytes() == before[0][mask].tobytes()
        frozen.verify()
    if compiled:
        assert_held_and_free_moved(before, values(model), MASKS)
    frozen.release()


def tied_model(kit):
    """A layer that is called twice, and one that computes with the kernel of another."""
    keras = kit.keras

    class Backwards(keras.layers.Layer):
        def __init__(self, kernel, **options):
            super().__init__(**options)
            self.kernel = kernel

        def call(self, inputs):
            return tf.matmul(inputs, tf.transpose(tf.convert_to_tensor(self.kernel)))

    inputs = keras.Input((4,))
    forwards = keras.layers.Dense(4, name="forwards", kernel_initializer=keras.initializers.Constant(0.1))
    once = forwards(inputs)
    model = keras.Model(inputs, Backwards(forwards.kernel, name="backwards")(forwards(once)))
    model.compile(optimizer=kit.sgd(), loss="mse")
    return model


def test_tied_weights_are_one_weight_and_held(kit):
    model = tied_model(kit)
    mask = np.zeros((4, 4), bool)
    mask[1, 2] = True
    frozen = fc.freeze(model, {"backwards/kernel": mask})
    assert list(frozen.masks) == ["forwards/kernel"]
    before = values(model)
    model.train_on_batch(X, X + 1)
    assert_held_and_free_moved(before, values(model), {"forwards/kernel": mask}, ["forwards/kernel", "forwards/bias"])
    frozen.verify()
    frozen.release()


def test_a_module_that_sets_its_variable_anew_is_refused():
    module = tf.Module()
    module.kernel = tf.Variable([1.0, 2.0], name="kernel")
    frozen = fc.freeze(module, {"kernel": [(0,)]})
    with frozen.hold():
        module.kernel.assign_sub([1.0, 1.0])
    frozen.verify()
    module.kernel = tf.Variable([1.0, 2.0], name="kernel")
    with pytest.raises(fc.WeightReplaced, match="kernel"):
        frozen.verify()
    frozen.release()
