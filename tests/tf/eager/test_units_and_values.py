"""The rest of the element language on real models: units of every layer with a kernel, gates, values, pins."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from freezecompat import elements
from kits import assert_held_and_free_moved, fit, values

KITS = kits.kits()
RANDOM = np.random.RandomState(0)
IMAGE = RANDOM.randn(2, 5, 5, 3).astype("f4")
LINE = RANDOM.randn(2, 6, 3).astype("f4")
ROWS = RANDOM.randn(4, 3).astype("f4")
VOLUME = RANDOM.randn(1, 4, 4, 4, 2).astype("f4")
ONE_STEP = RANDOM.randn(2, 1, 3).astype("f4")


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


# {class: (arguments, input, the units that the test freezes)}
LAYERS = {
    "Dense": (dict(units=4), ROWS, [1, 3]),
    "EinsumDense": (dict(equation="ab,bcd->acd", output_shape=(2, 3), bias_axes="cd"), ROWS, [0, 4]),
    "EinsumDense of a shared bias": (dict(equation="ab,bcd->acd", output_shape=(2, 3), bias_axes="d"), ROWS, [1]),
    "Conv1D": (dict(filters=4, kernel_size=2), LINE, [0, 2]),
    "Conv2D": (dict(filters=4, kernel_size=3), IMAGE, [0, 3]),
    "Conv3D": (dict(filters=3, kernel_size=2), VOLUME, [1]),
    "Conv1DTranspose": (dict(filters=4, kernel_size=2), LINE, [1]),
    "Conv2DTranspose": (dict(filters=4, kernel_size=3), IMAGE, [0, 2]),
    "Conv3DTranspose": (dict(filters=3, kernel_size=2), VOLUME, [2]),
    "DepthwiseConv1D": (dict(kernel_size=2, depth_multiplier=2), LINE, [1, 4]),
    "DepthwiseConv2D": (dict(kernel_size=2, depth_multiplier=2), IMAGE, [0, 3]),
    "SeparableConv1D": (dict(filters=4, kernel_size=2), LINE, [1]),
    "SeparableConv2D": (dict(filters=4, kernel_size=2, depth_multiplier=2), IMAGE, [0, 3]),
    "Embedding": (dict(input_dim=5, output_dim=4), np.array([[0, 3, 3], [1, 2, 4]]), [1, 2]),
    "LayerNormalization": (dict(), ROWS, [0, 2]),
    "GroupNormalization": (dict(groups=3), ROWS, [1]),
    "LSTM": (dict(units=4), ONE_STEP, [0, 3]),
    "GRU": (dict(units=4), ONE_STEP, [1]),
    "SimpleRNN": (dict(units=4), ONE_STEP, [1, 2]),
}


def offered(names):
    """(kit, name) of the layers that each Keras has; TF 1.15 lacks some."""
    return [
        pytest.param(kit, name, id="{}-{}".format(kit.name, name))
        for kit in KITS.values()
        for name in sorted(names)
        if hasattr(kit.keras.layers, name.split()[0])
    ]


def make(kit, name):
    options, x, chosen = LAYERS[name]
    layer = getattr(kit.keras.layers, name.split()[0])(name="it", **options)
    inputs = kit.keras.layers.Input(x.shape[1:], dtype=x.dtype.name)
    model = kit.keras.Model(inputs, layer(inputs))
    random = np.random.RandomState(1)
    model.set_weights([random.randn(*w.shape).astype("f4") / 2 for w in model.get_weights()])
    return model, x, chosen


def train(kit, model, x, optimizer, steps=3):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - 1.0))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


@pytest.mark.parametrize("kit, name", offered(LAYERS))
def test_a_frozen_unit_computes_what_it_did(kit, name):
    """Bit-equal output of the units for a fixed input, after training; every other unit's has moved."""
    model, x, chosen = make(kit, name)
    optimizer = kit.module.SGD(learning_rate=0.01, momentum=0.9)
    frozen = fc.freeze(model, {"it": elements.units(chosen)}, optimizer=optimizer)
    before = np.array(model(x))
    train(kit, model, x, optimizer)
    frozen.verify()
    after = np.array(model(x))
    if name == "EinsumDense":
        before, after = before.reshape(len(x), -1), after.reshape(len(x), -1)
    others = [k for k in range(before.shape[-1]) if k not in chosen]
    assert after[..., chosen].tobytes() == before[..., chosen].tobytes()
    assert all((after[..., k] != before[..., k]).any() for k in others) and others
    assert 0 < frozen.num_free


def test_channels_of_a_batch_normalization(kit):
    """gamma and beta; the moving statistics are asked for by name."""
    norm = kit.keras.layers.BatchNormalization(name="bn")
    inputs = kit.keras.layers.Input((3,))
    model = kit.keras.Model(inputs, norm(inputs))
    rows = fc.list_weights(model)
    assert list(fc.build_masks({"bn": elements.units(1)}, rows)) == ["bn/gamma", "bn/beta"]
    masks = fc.build_masks({"bn": elements.units(1, statistics=True)}, rows)
    assert sorted(masks) == ["bn/beta", "bn/gamma", "bn/moving_mean", "bn/moving_variance"]
    assert all(mask.tolist() == [False, True, False] for mask in masks.values())


@pytest.mark.parametrize("kit, name", offered(["MultiHeadAttention"]))
def test_heads_of_an_attention(kit, name):
    """Query, key, value and output of the head; before a projection's address a unit is one of the projection."""
    inputs = kit.keras.layers.Input((4, 6))
    attention = getattr(kit.keras.layers, name)(num_heads=2, key_dim=3, name="mha")
    model = kit.keras.Model(inputs, attention(inputs, inputs))
    masks = fc.build_masks({"mha": elements.units([1])}, fc.list_weights(model))
    assert len(masks) == 7  # three kernels and biases, the output's kernel
    for address, mask in masks.items():
        axis = 0 if "output" in address else -2
        heads = np.moveaxis(mask, axis, 0)
        assert heads.shape[0] == 2 and heads[1].all() and not heads[0].any(), address
    query = [address for address in masks if address.endswith("query/kernel")][0]
    one = fc.build_masks({query.rpartition("/")[0]: elements.units([4])}, fc.list_weights(model))
    assert one[query][:, 1, 1].all() and one[query].sum() == 6


@pytest.mark.parametrize("wrap", [False, True], ids=["alone", "bidirectional"])
@pytest.mark.parametrize("name, gate", [("LSTM", "forget"), ("GRU", "update")])
def test_a_gate_keeps_its_columns(kit, name, gate, wrap):
    """Kernel, recurrent kernel and bias of the gate, in each direction; found by what the gate does."""
    keras = kit.keras
    layer = getattr(keras.layers, name)(2, name="rnn")
    if wrap:
        layer = keras.layers.Bidirectional(layer, name="rnn")
    inputs = keras.layers.Input((3, 3))
    model = keras.Model(inputs, layer(inputs))
    rows = {row.address: row for row in fc.list_weights(model)}
    masks = fc.build_masks({"rnn": elements.gates(gate)}, rows.values())
    assert len(masks) == (6 if wrap else 3)
    place = {"forget": 1, "update": 0}[gate]
    for address, mask in masks.items():
        columns = mask[..., 2 * place : 2 * place + 2]
        assert columns.all() and mask.sum() == columns.size, address
    optimizer = kit.momentum()
    frozen = fc.freeze(model, {"rnn": elements.gates(gate)}, optimizer=optimizer)
    before = values(model)
    train(kit, model, LINE[:, :3], optimizer)
    assert_held_and_free_moved(before, values(model), masks, list(rows))
    frozen.verify()


def test_the_forget_gate_is_the_one_that_forgets(kit):
    """With its columns at a large negative bias the state of a step before is lost: the order is Keras' own."""
    keras = kit.keras
    inputs = keras.layers.Input((2, 1))
    model = keras.Model(inputs, keras.layers.LSTM(1, name="lstm")(inputs))
    model.set_weights([np.ones(w.shape, "f4") for w in model.get_weights()])
    x = np.array([[[1.0], [0.5]], [[-1.0], [0.5]]], "f4")
    assert np.ptp(np.array(model(x))) > 1e-3
    spec = {"lstm/bias": elements.pin(elements.gates("forget"), -100.0)}
    spec["lstm/recurrent_kernel"] = elements.pin("all", 0.0)
    fc.freeze(model, spec, optimizer=kit.sgd())
    assert np.ptp(np.array(model(x))) < 1e-6


def test_values_of_a_model(kit):
    """Chosen once, by the values at freeze; a later value does not matter, thaw takes the same language."""
    model = kit.compiled()
    before = values(model)
    frozen = fc.freeze(model, {"hidden/kernel": elements.where("abs(w) < 0.3"), "out/*": elements.largest(1)})
    wanted = {"hidden/kernel": np.abs(before[0]) < 0.3, "out/kernel": np.zeros((3, 2), bool), "out/bias": [False, True]}
    wanted["out/kernel"][1, 1] = True
    assert {address: mask.tolist() for address, mask in frozen.masks.items()} == {
        address: np.array(mask).tolist() for address, mask in wanted.items()
    }
    fit(model)
    assert_held_and_free_moved(before, values(model), frozen.masks)
    frozen.thaw({"hidden/kernel": elements.zeros()})
    assert not frozen.masks["hidden/kernel"][3, 2] and frozen.num_frozen == int((np.abs(before[0]) < 0.3).sum()) + 1
    frozen.freeze({"hidden/bias": lambda w: w < 0})
    assert frozen.masks["hidden/bias"].tolist() == (values(model)[1] < 0).tolist()


def test_a_pin_sets_the_value_when_frozen(kit):
    """Before training and in the midst of it: the value is there at once, is held, and is verify()'s reference."""
    model = kit.compiled()
    frozen = fc.freeze(model, {"hidden/kernel": elements.pin("0, :", 0.125)})
    assert (values(model)[0][0] == 0.125).all() and values(model)[0][1:].tobytes() == kits.HIDDEN_KERNEL[1:].tobytes()
    fit(model)
    frozen.verify()
    frozen.freeze({"out/bias": elements.pin("all", [-0.0, np.nan]) | elements.zeros()})
    before = values(model)
    assert before[3].tobytes() == np.array([-0.0, np.nan], "f4").tobytes()
    frozen.thaw({"out/bias": (1,)})
    model.set_weights(before[:3] + [np.array([-0.0, 1.0], "f4")])
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), frozen.masks)
    frozen.verify()
    assert frozen.report().notes == ()


def test_conflicting_pins(kit):
    """Of two live Frozens, and of one at two times: refused, and nothing has changed."""
    model = kit.compiled()
    first = fc.freeze(model, {"out/bias": elements.pin("all", 1.0)})
    before = values(model)
    with pytest.raises(ValueError, match="is pinned at 1.0 and at 2.0"):
        fc.freeze(model, {"hidden/bias": elements.pin("all", 5.0), "out/bias": elements.pin((1,), 2.0)})
    with pytest.raises(ValueError, match="is pinned at 1.0 and at 2.0"):
        first.freeze({"hidden/bias": elements.pin("all", 5.0), "out/bias": elements.pin((1,), 2.0)})
    assert [a.tobytes() for a in values(model)] == [a.tobytes() for a in before] and list(first.masks) == ["out/bias"]
    second = fc.freeze(model, {"out/bias": elements.pin((1,), 1.0)})
    first.release()
    with pytest.raises(ValueError):
        fc.freeze(model, {"out/bias": elements.pin((1,), 2.0)})
    second.thaw()
    fc.freeze(model, {"out/bias": elements.pin((1,), 2.0)})
    assert values(model)[3].tolist() == [1.0, 2.0]


def test_algebra_of_specs_on_a_model(kit):
    """All but some: `~` is over the trainable weights."""
    model = kit.compiled()
    spec = ~(fc.FreezeSpec({"hidden/kernel": (1, 2)}) | fc.FreezeSpec({"out/bias": "all"}))
    frozen = fc.freeze(model, spec)
    before = values(model)
    fit(model)
    after = values(model)
    assert_held_and_free_moved(before, after, frozen.masks)
    assert frozen.num_free == 3 and after[0][1, 2] != before[0][1, 2]
