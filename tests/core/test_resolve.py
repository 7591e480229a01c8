"""Which weights an address names."""

import numpy as np
import pytest

from freezecompat.exceptions import AmbiguousWeight, ArgumentError, SpecTypeError, UnknownWeight
from freezecompat.resolve import Weight, as_weights, resolve


class Variable(object):
    """Like a TF variable: equal to everything, without a hash, and no `in`."""

    __hash__ = None

    def __init__(self, name):
        self.name = name
        self.shape = (3,)

    def __eq__(self, other):
        raise AssertionError("variables are never compared with ==")


KERNEL, BIAS, OUTSIDE = Variable("m/dense/kernel:0"), Variable("m/dense/bias:0"), Variable("other:0")
WEIGHTS = [
    Weight("block/hidden/kernel", (4, 3), name="m/dense/kernel:0", ordinal=0, layer="block/hidden", handles=(KERNEL,)),
    Weight("block/hidden/bias", (3,), name="m/dense/bias:0", ordinal=1, layer="block/hidden", handles=(object(), BIAS)),
    Weight("hidden/kernel", (3, 3), name="dense/kernel:0", ordinal=2, layer="hidden"),
    Weight("out/kernel", (3, 1), name="dense/kernel:0", ordinal=3, layer="out", aliases=("tied/kernel", "seq/out/w")),
    Weight("norm/moving_mean", (3,), trainable=False, name="norm/mean", layer="norm"),
]


def names(address, weights=WEIGHTS):
    return [row.address for row in resolve(address, weights).weights]


@pytest.mark.parametrize(
    "address, expected, kind",
    [
        pytest.param("hidden/kernel", ["hidden/kernel"], "weight", id="exact-before-trailing"),
        pytest.param("m/dense/kernel:0", ["block/hidden/kernel"], "weight", id="native"),
        pytest.param("m/dense/kernel", ["block/hidden/kernel"], "weight", id="native-without-zero"),
        pytest.param("norm/mean:0", ["norm/moving_mean"], "weight", id="native-with-zero-added"),
        pytest.param("tied/kernel", ["out/kernel"], "weight", id="alias"),
        pytest.param("bias", ["block/hidden/bias"], "weight", id="trailing"),
        pytest.param("hidden/bias", ["block/hidden/bias"], "weight", id="two-trailing"),
        pytest.param("hidden/bias:0", ["block/hidden/bias"], "weight", id="trailing-with-zero"),
        pytest.param("out/w", ["out/kernel"], "weight", id="trailing-of-alias"),
        pytest.param("*/kernel", ["block/hidden/kernel", "hidden/kernel", "out/kernel"], "glob", id="star-crosses"),
        pytest.param("hidden/*", ["hidden/kernel"], "glob", id="glob-of-the-whole-address"),
        pytest.param("*/b?as", ["block/hidden/bias"], "glob", id="question-mark"),
        pytest.param("[ho]*/kernel", ["hidden/kernel", "out/kernel"], "glob", id="brackets"),
        pytest.param("#0", ["block/hidden/kernel"], "weight", id="first-ordinal"),
        pytest.param("#3", ["out/kernel"], "weight", id="last-ordinal"),
        pytest.param("hidden", ["hidden/kernel"], "layer", id="exact-layer"),
        pytest.param("block", ["block/hidden/kernel", "block/hidden/bias"], "layer", id="layer-above"),
        pytest.param("block/hidden", ["block/hidden/kernel", "block/hidden/bias"], "layer", id="nested-layer"),
        pytest.param("norm", ["norm/moving_mean"], "layer", id="layer-not-trainable"),
    ],
)
def test_address(address, expected, kind):
    """The first level that fits decides."""
    assert names(address) == expected
    assert resolve(address, WEIGHTS).kind == kind


def test_layer_by_trailing_segments():
    """A nested layer is found by its own name where no other layer is called so."""
    assert names("inner", [Weight("block/inner/kernel", (3,), layer="block/inner")]) == ["block/inner/kernel"]
    assert names("inner", [Weight("block/inner/deep/kernel", (3,), layer="block/inner/deep")]) == [
        "block/inner/deep/kernel"
    ]


def test_segments_are_whole():
    """Half a segment is no match, neither of a weight nor of a layer."""
    for address in ("idden/kernel", "ernel", "idden", "bloc"):
        with pytest.raises(UnknownWeight):
            resolve(address, WEIGHTS[:2])
    assert names("in", [Weight("in/w", (1,), layer="in"), Weight("in2/w", (1,), layer="in2")]) == ["in/w"]


def test_variable_object_is_found_by_identity():
    """A variable is found though it can't be compared or hashed, through any of its handles."""
    assert names(KERNEL) == ["block/hidden/kernel"]
    assert names(BIAS) == ["block/hidden/bias"]


def test_exact_address_with_wildcard_signs():
    """A weight whose own address looks like a pattern is found by it."""
    assert names("w[0]", [Weight("w[0]", (1,)), Weight("w0", (1,))]) == ["w[0]"]


def test_ordinal_as_an_address():
    """Where "#1" is a weight's address, it is that weight."""
    assert names("#1", [Weight("#1", (1,), ordinal=0), Weight("#0", (2,), ordinal=1)]) == ["#1"]


@pytest.mark.parametrize(
    "address, text",
    [
        pytest.param(
            "kernel",
            "'kernel' fits 3 weights: block/hidden/kernel (4, 3), hidden/kernel (3, 3), out/kernel (3, 1). Write the "
            "whole address, or a pattern such as '*/kernel' for all of them",
            id="trailing",
        ),
        pytest.param(
            "dense/kernel:0",
            "'dense/kernel:0' fits 2 weights: hidden/kernel (3, 3), out/kernel (3, 1). Write the whole address, or a "
            "pattern such as '*/kernel' for all of them",
            id="native-twins",
        ),
    ],
)
def test_several_fit(address, text):
    """What fits several weights without a wildcard raises with the candidates and their shapes."""
    with pytest.raises(AmbiguousWeight) as caught:
        resolve(address, WEIGHTS)
    assert str(caught.value) == text


def test_several_layers_fit():
    """A layer's name that fits two nested layers raises with both."""
    weights = [Weight("a/in/kernel", (1,), layer="a/in"), Weight("b/in/kernel", (1,), layer="b/in")]
    with pytest.raises(AmbiguousWeight, match="'in' fits 2 layers: a/in, b/in. Write the whole address"):
        resolve("in", weights)


@pytest.mark.parametrize(
    "address, texts",
    [
        pytest.param("hiden/kernel", ["no weight is called 'hiden/kernel'", "Did you mean 'hidden/kernel'"], id="typo"),
        pytest.param("Hidden/bais", ["Did you mean 'block/hidden/bias'?"], id="typo-of-the-end"),
        pytest.param("nrom", ["Did you mean 'norm'?"], id="typo-of-a-layer"),
        pytest.param("*/gamma", ["no weight is called '*/gamma'", "out/kernel (3, 1)"], id="glob-without-fit"),
        pytest.param("*/Kernel", ["no weight is called '*/Kernel'"], id="glob-minds-the-case"),
        pytest.param("[z-a]", ["no weight is called '[z-a]'"], id="bad-range"),
        pytest.param("", ["no weight is called ''"], id="empty"),
        pytest.param("#4", ["no weight '#4': the target has 4 trainable weights (valid: '#0' to '#3')"], id="ordinal"),
        pytest.param("#" + "9" * 5000, ["the target has 4 trainable weights"], id="huge-ordinal"),
        pytest.param("#-1", ["no weight is called '#-1'"], id="negative-ordinal"),
        pytest.param("#1\n", ["no weight is called '#1\\n'"], id="ordinal-and-newline"),
        pytest.param(
            OUTSIDE, ["variable 'other:0' is not a variable of this target", "Weights: block/"], id="variable"
        ),
        pytest.param(0, ["0 is not a variable", "write '#0' for a position"], id="int"),
        pytest.param(None, ["None is not a variable of this target"], id="none"),
        pytest.param(
            b"out/kernel", ["b'out/kernel' is not a variable of this target: an address is a string"], id="bytes"
        ),
    ],
)
def test_nothing_fits(address, texts):
    """What fits nothing raises with what there is, and the close matches."""
    with pytest.raises(UnknownWeight) as caught:
        resolve(address, WEIGHTS)
    for text in texts:
        assert text in str(caught.value)


def test_long_lists_are_cut():
    """Twelve weights are listed, the others counted."""
    weights = [Weight("w{}".format(i), (1,)) for i in range(52)]
    with pytest.raises(UnknownWeight, match=r"w11 \(1,\) and 40 more\."):
        resolve("kernel", weights)
    with pytest.raises(UnknownWeight, match="The target has no weights"):
        resolve("kernel", [])


@pytest.mark.parametrize("address", ["x" * 10**7, "*" * 10**7, "*" * 999 + "x", "[" * 10**6, "a/" * 10**6])
def test_hostile_address_ends_soon(address):
    """A text of 10 MB is an unknown weight, with a short text, in short time."""
    with pytest.raises(UnknownWeight) as caught:
        resolve(address, WEIGHTS)
    assert len(str(caught.value)) < 1000


def test_short_form():
    """`{address: array}`: trainable, numbered in order, layers by the slashes."""
    rows = as_weights({"block/hidden/kernel": np.zeros((4, 3), np.float32), "scale": np.float64(1)})
    assert [row._replace(values=None) for row in rows] == [
        Weight("block/hidden/kernel", (4, 3), "float32", ordinal=0, layer="block/hidden", role="kernel"),
        Weight("scale", (), "float64", ordinal=1, layer="", role="scale"),
    ]
    assert rows[0].values.tolist() == np.zeros((4, 3)).tolist()
    assert names("hidden", rows) == ["block/hidden/kernel"]


def test_rows_keep_their_ordinals():
    """Rows with ordinals stay as they are; rows without are numbered among the trainable ones."""
    assert [row.ordinal for row in as_weights(WEIGHTS)] == [0, 1, 2, 3, None]
    rows = as_weights([Weight("a", [2], trainable=False), Weight("b", (2,)), Weight("c", (2,))])
    assert [row.ordinal for row in rows] == [None, 0, 1]
    assert rows[0].shape == (2,)
    assert [row.ordinal for row in as_weights(iter(rows[::-1]))] == [1, 0, None]


@pytest.mark.parametrize(
    "weights, error, text",
    [
        pytest.param(
            [Weight("a", (1,)), Weight("a", (2,))], ArgumentError, "two weights have the address 'a'", id="twice"
        ),
        pytest.param({"a": (4, 3)}, SpecTypeError, r"weight 'a': expected an array, received \(4, 3\)", id="shape"),
        pytest.param({"a": np.array([None])}, SpecTypeError, "weight 'a': .* has no values", id="objects"),
        pytest.param({0: np.zeros(1)}, SpecTypeError, "0 is no address", id="int-address"),
        pytest.param({"": np.zeros(1)}, SpecTypeError, "'' is no address", id="empty-address"),
        pytest.param([np.zeros(1)], SpecTypeError, "expected {address: array} or Weight rows", id="arrays"),
        pytest.param(3, SpecTypeError, "received 3", id="int"),
    ],
)
def test_no_weights(weights, error, text):
    """What are no weights is refused."""
    with pytest.raises(error, match=text):
        as_weights(weights)
