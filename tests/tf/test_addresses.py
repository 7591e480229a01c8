"""Canonical addresses: one literal table, the same under every version and API of Keras."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import runtimes

PACKAGES = runtimes.keras_packages()


@pytest.fixture(params=sorted(PACKAGES))
def keras(request):
    return PACKAGES[request.param]


def sequential(keras):
    return keras.Sequential(
        [
            keras.layers.InputLayer((4,)),
            keras.layers.Dense(3, name="hidden"),
            keras.layers.Dense(2, name="out", use_bias=False),
        ]
    )


def functional(keras):
    inputs = keras.layers.Input((4,))
    hidden = keras.layers.Dense(3, name="hidden")(inputs)
    normed = keras.layers.BatchNormalization(name="norm")(hidden)
    return keras.Model(inputs, keras.layers.Dense(2, name="out")(normed))


def nested_twins(keras):
    """Two inner models whose layers have the same names."""

    def tower(name):
        return keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(3, name="dense")], name=name)

    inputs = keras.layers.Input((4,))
    joined = keras.layers.Add()([tower("a")(inputs), tower("b")(inputs)])
    return keras.Model(inputs, keras.layers.Dense(2, name="out")(joined))


def nested_deep(keras):
    inner = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(3, name="dense")], name="inner")
    layers = [keras.layers.InputLayer((4,)), inner, keras.layers.Dense(3, name="dense")]
    middle = keras.Sequential(layers, name="middle")
    return keras.Sequential([keras.layers.InputLayer((4,)), middle, keras.layers.Dense(2, name="dense")])


def subclassed(keras):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(3, name="first")
            self.others = [keras.layers.Dense(3, name="listed"), keras.layers.Dense(3, name="listed")]
            self.last = keras.layers.Dense(2, name="last")

        def call(self, inputs):
            hidden = self.first(inputs)
            for layer in self.others:
                hidden = layer(hidden)
            return self.last(hidden)

    model = Net()
    model(tf.zeros((1, 4)))
    return model


def own_weight(keras):
    class Scaled(keras.Model):
        def __init__(self):
            super().__init__()
            self.zz = keras.layers.Dense(2, name="zz")
            self.scale = self.add_weight(name="w", shape=(3,), initializer="ones", trainable=True)
            self.counter = self.add_weight(name="seen", shape=(), initializer="zeros", trainable=False)

        def call(self, inputs):
            return self.zz(inputs * self.scale)

    model = Scaled()
    model(tf.zeros((1, 3)))
    return model


def own_layer(keras):
    class Mix(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(name="some_other_name", shape=(4, 2), initializer="ones", trainable=True)
            super().build(shape)

        def call(self, inputs):
            return tf.matmul(inputs, self.w)

        def compute_output_shape(self, shape):
            return (shape[0], 2)

    inputs = keras.layers.Input((4,))
    return keras.Model(inputs, Mix(name="mix")(inputs))


def recurrent(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.InputLayer((5, 3)),
            layers.LSTM(2, return_sequences=True, name="lstm"),
            layers.GRU(2, return_sequences=True, name="gru", reset_after=True),
            layers.Bidirectional(layers.LSTM(2, return_sequences=True, name="inner"), name="both"),
            layers.SimpleRNN(2, return_sequences=True, name="simple"),
            layers.RNN(layers.LSTMCell(2), return_sequences=True, name="rnn"),
            layers.RNN(layers.GRUCell(2, name="my_cell", reset_after=True), return_sequences=True, name="named"),
            layers.RNN(layers.StackedRNNCells([layers.SimpleRNNCell(2), layers.SimpleRNNCell(2)]), name="stack"),
        ]
    )


def convolutions(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.InputLayer((8, 8, 2)),
            layers.Conv2D(3, 2, name="conv"),
            layers.DepthwiseConv2D(2, name="depthwise"),
            layers.SeparableConv2D(4, 2, name="separable"),
            layers.Conv2DTranspose(2, 2, name="transposed"),
            layers.Flatten(name="flat"),
            layers.Dense(1, name="out"),
        ]
    )


def convolutional_lstm(keras):
    return keras.Sequential(
        [
            keras.layers.InputLayer((3, 6, 6, 1)),
            keras.layers.ConvLSTM2D(2, 3, name="convlstm"),
            keras.layers.Flatten(name="flat"),
        ]
    )


def lookups(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.InputLayer((3,)),
            layers.Embedding(5, 2, name="table"),
            layers.LayerNormalization(name="norm"),
            layers.TimeDistributed(layers.Dense(2, name="inside"), name="spread"),
            layers.PReLU(name="prelu"),
        ]
    )


def attention(keras):
    layers = keras.layers
    if not hasattr(layers, "MultiHeadAttention"):
        pytest.skip("this Keras has no MultiHeadAttention")
    inputs = layers.Input((4, 3))
    return keras.Model(inputs, layers.MultiHeadAttention(2, 2, name="attend")(inputs, inputs))


# (address, shape), in no order.
TABLE = {
    sequential: [("hidden/kernel", (4, 3)), ("hidden/bias", (3,)), ("out/kernel", (3, 2))],
    functional: [
        ("hidden/kernel", (4, 3)),
        ("hidden/bias", (3,)),
        ("norm/gamma", (3,)),
        ("norm/beta", (3,)),
        ("norm/moving_mean", (3,)),
        ("norm/moving_variance", (3,)),
        ("out/kernel", (3, 2)),
        ("out/bias", (2,)),
    ],
    nested_twins: [
        ("a/dense/kernel", (4, 3)),
        ("a/dense/bias", (3,)),
        ("b/dense/kernel", (4, 3)),
        ("b/dense/bias", (3,)),
        ("out/kernel", (3, 2)),
        ("out/bias", (2,)),
    ],
    nested_deep: [
        ("middle/inner/dense/kernel", (4, 3)),
        ("middle/inner/dense/bias", (3,)),
        ("middle/dense/kernel", (3, 3)),
        ("middle/dense/bias", (3,)),
        ("dense/kernel", (3, 2)),
        ("dense/bias", (2,)),
    ],
    subclassed: [
        ("first/kernel", (4, 3)),
        ("first/bias", (3,)),
        ("listed/kernel", (3, 3)),
        ("listed/bias", (3,)),
        ("listed~2/kernel", (3, 3)),
        ("listed~2/bias", (3,)),
        ("last/kernel", (3, 2)),
        ("last/bias", (2,)),
    ],
    own_weight: [("scale", (3,)), ("counter", ()), ("zz/kernel", (3, 2)), ("zz/bias", (2,))],
    own_layer: [("mix/w", (4, 2))],
    recurrent: [
        ("lstm/kernel", (3, 8)),
        ("lstm/recurrent_kernel", (2, 8)),
        ("lstm/bias", (8,)),
        ("gru/kernel", (2, 6)),
        ("gru/recurrent_kernel", (2, 6)),
        ("gru/bias", (2, 6)),
        ("both/forward_inner/kernel", (2, 8)),
        ("both/forward_inner/recurrent_kernel", (2, 8)),
        ("both/forward_inner/bias", (8,)),
        ("both/backward_inner/kernel", (2, 8)),
        ("both/backward_inner/recurrent_kernel", (2, 8)),
        ("both/backward_inner/bias", (8,)),
        ("simple/kernel", (4, 2)),
        ("simple/recurrent_kernel", (2, 2)),
        ("simple/bias", (2,)),
        ("rnn/kernel", (2, 8)),
        ("rnn/recurrent_kernel", (2, 8)),
        ("rnn/bias", (8,)),
        ("named/my_cell/kernel", (2, 6)),
        ("named/my_cell/recurrent_kernel", (2, 6)),
        ("named/my_cell/bias", (2, 6)),
        ("stack/kernel", (2, 2)),
        ("stack/recurrent_kernel", (2, 2)),
        ("stack/bias", (2,)),
        ("stack/kernel~2", (2, 2)),
        ("stack/recurrent_kernel~2", (2, 2)),
        ("stack/bias~2", (2,)),
    ],
    convolutions: [
        ("conv/kernel", (2, 2, 2, 3)),
        ("conv/bias", (3,)),
        ("depthwise/depthwise_kernel", (2, 2, 3, 1)),
        ("depthwise/bias", (3,)),
        ("separable/depthwise_kernel", (2, 2, 3, 1)),
        ("separable/pointwise_kernel", (1, 1, 3, 4)),
        ("separable/bias", (4,)),
        ("transposed/kernel", (2, 2, 2, 4)),
        ("transposed/bias", (2,)),
        ("out/kernel", (72, 1)),
        ("out/bias", (1,)),
    ],
    convolutional_lstm: [
        ("convlstm/kernel", (3, 3, 1, 8)),
        ("convlstm/recurrent_kernel", (3, 3, 2, 8)),
        ("convlstm/bias", (8,)),
    ],
    lookups: [
        ("table/embeddings", (5, 2)),
        ("norm/gamma", (2,)),
        ("norm/beta", (2,)),
        ("spread/inside/kernel", (2, 2)),
        ("spread/inside/bias", (2,)),
        ("prelu/alpha", (3, 2)),
    ],
    attention: [
        ("attend/query/kernel", (3, 2, 2)),
        ("attend/query/bias", (2, 2)),
        ("attend/key/kernel", (3, 2, 2)),
        ("attend/key/bias", (2, 2)),
        ("attend/value/kernel", (3, 2, 2)),
        ("attend/value/bias", (2, 2)),
        ("attend/attention_output/kernel", (2, 2, 3)),
        ("attend/attention_output/bias", (3,)),
    ],
}
NOT_TRAINABLE = {"norm/moving_mean", "norm/moving_variance", "counter"}


@pytest.mark.parametrize("build", sorted(TABLE, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_the_same_addresses_under_every_keras(keras, build):
    """Each weight has the address of the table, with its shape, and rows come in the model's own weight order."""
    model = build(keras)
    rows = fc.list_weights(model)
    assert sorted((row.address, row.shape) for row in rows) == sorted(TABLE[build])
    assert [id(row.handles[0]) for row in rows] == [id(v) for v in model.weights]
    for row, variable in zip(rows, model.weights):
        assert row.shape == tuple(variable.shape) and row.dtype == "float32"
        assert row.trainable == (row.address not in NOT_TRAINABLE)
        assert row.name in (variable.name, getattr(variable, "path", None))
    ordinals = {row.ordinal: row for row in rows if row.ordinal is not None}
    assert sorted(ordinals) == list(range(len(model.trainable_variables)))
    for k, variable in enumerate(model.trainable_variables):
        assert ordinals[k].handles[0] is variable


@pytest.mark.parametrize("build", [functional, nested_deep, own_weight], ids=lambda f: f.__name__)
def test_native_names_paths_and_ordinals_name_the_same_weight(keras, build):
    """A native name or path, with or without ":0", "#k" and the variable object: each finds its weight."""
    model = build(keras)
    rows = fc.list_weights(model)
    names = [row.name.split(":")[0] for row in rows]
    addresses = [row.address for row in rows]
    for row in rows:
        index = (0,) * len(row.shape)
        handles = [row.address, row.handles[0]]
        plain = row.name.split(":")[0]
        if names.count(plain) == 1 and plain not in addresses:  # an exact address comes before a native name
            handles += [plain, plain + ":0"]
        if row.ordinal is not None:
            handles.append("#{}".format(row.ordinal))
        for handle in handles:
            masks = fc.build_masks([(handle, [index])], rows)
            assert list(masks) == [row.address], handle
            assert masks[row.address].sum() == 1


def test_nested_twins_are_told_apart_or_refused(keras):
    """A name that fits both is refused with the candidates; the addresses differ, whatever the native names are."""
    rows = fc.list_weights(nested_twins(keras))
    natives = [row.name.split(":")[0] for row in rows]
    if natives.count("dense/kernel") == 1:  # graph mode numbers native names: an exact one decides
        assert list(fc.build_masks({"dense/kernel": [(0, 0)]}, rows)) == [rows[natives.index("dense/kernel")].address]
    else:
        with pytest.raises(fc.AmbiguousWeight, match="a/dense/kernel.*b/dense/kernel"):
            fc.build_masks({"dense/kernel": [(0, 0)]}, rows)
    assert list(fc.build_masks({"b/dense/kernel": [(0, 0)]}, rows)) == ["b/dense/kernel"]
    assert list(fc.build_masks({"*dense/kernel": "all"}, rows)) == ["a/dense/kernel", "b/dense/kernel"]


def test_a_trailing_segment_is_enough_where_it_is_unique(keras):
    """Whole trailing segments name a weight: "inner/dense/kernel" without the outer names."""
    rows = fc.list_weights(nested_deep(keras))
    assert list(fc.build_masks({"inner/dense/kernel": [(0, 0)]}, rows)) == ["middle/inner/dense/kernel"]
    assert list(fc.build_masks({"dense/kernel": [(0, 0)]}, rows)) == ["dense/kernel"]  # the exact address decides
    with pytest.raises(fc.UnknownWeight):
        fc.build_masks({"er/dense/kernel": [(0, 0)]}, rows)


def shared_in_two_models(keras):
    layers = keras.layers
    shared = layers.Dense(3, name="shared")
    first = keras.Sequential([layers.InputLayer((3,)), shared], name="first")
    second = keras.Sequential([layers.InputLayer((3,)), shared], name="second")
    inputs = layers.Input((3,))
    return keras.Model(inputs, layers.Add()([first(inputs), second(inputs)]))


def test_a_shared_variable_has_one_key_and_aliases(keras):
    """A layer inside two inner models: one row; its second address finds the same weight."""
    rows = fc.list_weights(shared_in_two_models(keras))
    assert [row.address for row in rows] == ["first/shared/kernel", "first/shared/bias"]
    assert list(fc.build_masks({"second/shared/kernel": [(0, 0)]}, rows)) == ["first/shared/kernel"]


def test_a_layers_address_means_all_its_weights(keras):
    """A layer's address with "all": every trainable weight below it."""
    rows = fc.list_weights(functional(keras))
    assert list(fc.build_masks({"norm": "all"}, rows)) == ["norm/gamma", "norm/beta"]
    assert list(fc.build_masks({"hidden": "all"}, rows)) == ["hidden/kernel", "hidden/bias"]
    rows = fc.list_weights(nested_deep(keras))
    assert len(fc.build_masks({"middle": "all"}, rows)) == 4


def test_a_layer_target_leaves_its_own_name_out(keras):
    """A layer's weights are its roles; an inner model's begin below it."""
    model = nested_deep(keras)
    middle = [layer for layer in model.layers if layer.name == "middle"][0]
    assert [row.address for row in fc.list_weights(model.layers[-1])] == ["kernel", "bias"]
    found = [row.address for row in fc.list_weights(middle)]
    assert found == ["inner/dense/kernel", "inner/dense/bias", "dense/kernel", "dense/bias"]


def test_masks_come_in_weight_order_whatever_the_spec_says(keras):
    """masks and build_masks are in the model's weight order."""
    spec = {"out/bias": [0], "norm/gamma": [1], "hidden/kernel": [(3, 2)]}
    model = functional(keras)
    assert list(fc.build_masks(spec, fc.list_weights(model))) == ["hidden/kernel", "norm/gamma", "out/bias"]


def test_units_axes_are_those_of_the_layer(keras):
    """The axis of a unit: -1 for Dense and Conv, -2 for a transposed one, both last axes for a depthwise kernel."""
    axes = {row.address: row.unit_axis for row in fc.list_weights(convolutions(keras))}
    assert axes["conv/kernel"] == -1 and axes["out/kernel"] == -1
    assert axes["transposed/kernel"] == -2
    assert axes["depthwise/depthwise_kernel"] == (-2, -1)
    assert axes["separable/pointwise_kernel"] == -1


def test_the_order_in_which_models_were_built_does_not_matter(keras):
    """Automatic numbers in native names depend on what was built before; addresses do not."""
    first = [row.address for row in fc.list_weights(recurrent(keras))]
    second = [row.address for row in fc.list_weights(recurrent(keras))]
    assert first == second


class Module(tf.Module):
    def __init__(self):
        super().__init__(name="module")
        self.kernel = tf.Variable(np.zeros((2, 3), "f4"), name="kernel")
        self.bias = tf.Variable(np.zeros(3, "f4"), name="bias")
        self.seen = tf.Variable(np.zeros((), "f4"), name="seen", trainable=False)


def test_a_module_a_list_and_a_dict(keras):
    """Outside Keras: the dict's key, else the variable's name without ":0"; "#k" where names repeat."""
    module = Module()
    rows = fc.list_weights(module)
    assert sorted((row.address, row.shape, row.trainable) for row in rows) == [
        ("bias", (3,), True),
        ("kernel", (2, 3), True),
        ("seen", (), False),
    ]
    rows = fc.list_weights([module.kernel, module.bias])
    assert [(row.address, row.ordinal) for row in rows] == [("kernel", 0), ("bias", 1)]
    rows = fc.list_weights({"mine": module.kernel, "of/bias": module.bias})
    assert [row.address for row in rows] == ["mine", "of/bias"]
    twins = [tf.Variable(np.zeros((), "f4"), name="twin") for _ in range(2)]
    if twins[0].name == twins[1].name:
        assert [row.address for row in fc.list_weights(twins)] == ["#0", "#1"]


def test_a_variable_is_found_by_identity_among_its_equals():
    """Of three variables of one name and one value, the object itself is frozen, and no other."""
    variables = [tf.Variable([1.0, 2.0], name="equal") for _ in range(3)]
    frozen = fc.freeze(variables, [(variables[1], (0,))])
    (address,) = frozen.masks
    assert [row.address for row in fc.list_weights(variables)].index(address) == 1
