"""Units and gates: which axis they lie along is in the weight rows; the layers that fill them in are tested with TensorFlow."""

import numpy as np
import pytest

from freezecompat import FreezeSpec, Weight, build_masks, elements
from freezecompat.exceptions import AmbiguousWeight, ElementIndexError, SpecTypeError, SpecValueError, UnknownWeight

DENSE = [
    Weight("hidden/kernel", (2, 3), layer="hidden", role="kernel", unit_axis=-1),
    Weight("hidden/bias", (3,), layer="hidden", role="bias", unit_axis=-1),
    Weight("hidden/scale", (), layer="hidden", role="scale"),
    Weight("out/kernel", (3, 1), layer="out", role="kernel", unit_axis=-1),
]
NORM = [
    Weight("bn/gamma", (3,), layer="bn", role="gamma", unit_axis=-1),
    Weight("bn/moving_mean", (3,), layer="bn", role="moving_mean", unit_axis=-1, trainable=False),
]
LSTM = [
    Weight("lstm/kernel", (1, 8), layer="lstm", role="kernel", unit_axis=-1, gates=elements.LSTM_GATES),
    Weight("lstm/bias", (8,), layer="lstm", role="bias", unit_axis=-1, gates=elements.LSTM_GATES),
]
ATTENTION = [
    Weight("mha/query/kernel", (3, 2, 2), layer="mha/query", unit_axis=(1, 2), outer_units=("mha", -2)),
    Weight("mha/query/bias", (2, 2), layer="mha/query", unit_axis=(0, 1), outer_units=("mha", -2)),
    Weight("mha/output/kernel", (2, 2, 3), layer="mha/output", unit_axis=-1, outer_units=("mha", 0)),
    Weight("mha/output/bias", (3,), layer="mha/output", unit_axis=-1),
]


def flat(spec, rows):
    return {address: np.flatnonzero(mask).tolist() for address, mask in build_masks(spec, rows).items()}


def test_units_of_a_layer():
    """Its slice of each weight that has units; the others are left alone."""
    assert flat({"hidden": elements.units([0, -1])}, DENSE) == {"hidden/kernel": [0, 2, 3, 5], "hidden/bias": [0, 2]}
    assert flat({"hidden": elements.units(1)}, DENSE) == {"hidden/kernel": [1, 4], "hidden/bias": [1]}
    assert flat({"hidden/kernel": elements.units(1)}, DENSE) == {"hidden/kernel": [1, 4]}
    assert flat({"*/kernel": elements.units([0])}, DENSE) == {"hidden/kernel": [0, 3], "out/kernel": [0, 1, 2]}


def test_units_and_the_rest():
    """Set algebra reaches each weight of the layer."""
    spec = {"hidden": elements.units([0]) | elements.units([2])}
    assert flat(spec, DENSE)["hidden/bias"] == [0, 2]
    spec = {"hidden": ~elements.units([0])}
    assert flat(spec, DENSE) == {"hidden/kernel": [1, 2, 4, 5], "hidden/bias": [1, 2], "hidden/scale": [0]}
    spec = {"hidden": elements.units([0, 1]) & elements.units([1])}
    assert flat(spec, DENSE)["hidden/bias"] == [1]


def test_statistics_when_asked_for():
    """The moving statistics are in the units only with statistics=True, and in nothing that stands beside them."""
    assert flat({"bn": elements.units(1)}, NORM) == {"bn/gamma": [1]}
    both = elements.units(1, statistics=True)
    assert flat({"bn": both}, NORM) == {"bn/gamma": [1], "bn/moving_mean": [1]}
    assert flat({"bn": both | elements.all()}, NORM) == {"bn/gamma": [0, 1, 2], "bn/moving_mean": [1]}
    assert flat({"bn": both & elements.all()}, NORM) == {"bn/gamma": [1]}


def test_several_axes_count_as_one():
    """A depthwise kernel's unit is channel * multiplier + k."""
    row = Weight("dw/depthwise_kernel", (1, 1, 2, 3), layer="dw", unit_axis=(-2, -1))
    assert flat({"dw": elements.units([4, 1])}, [row]) == {"dw/depthwise_kernel": [1, 4]}
    with pytest.raises(ElementIndexError, match="unit 6 is out of range.*6 units"):
        build_masks({"dw": elements.units([6])}, [row])


def test_a_weight_that_every_unit_depends_on():
    """The depthwise kernel of a separable convolution is in each unit."""
    rows = [
        Weight("s/depthwise_kernel", (1, 2, 1), layer="s", whole_for_units=True),
        Weight("s/pointwise_kernel", (1, 2, 3), layer="s", unit_axis=-1),
    ]
    assert flat({"s": elements.units(2)}, rows) == {"s/depthwise_kernel": [0, 1], "s/pointwise_kernel": [2, 5]}


def test_units_of_a_recurrent_layer():
    """The unit's column of every gate."""
    assert flat({"lstm": elements.units(1)}, LSTM) == {"lstm/kernel": [1, 3, 5, 7], "lstm/bias": [1, 3, 5, 7]}
    with pytest.raises(ElementIndexError, match="unit 2 .* 2 units"):
        build_masks({"lstm": elements.units(2)}, LSTM)


def test_heads():
    """Before an attention layer's address a unit is a head; before a projection's it is one of the projection."""
    assert flat({"mha": elements.units(1)}, ATTENTION) == {
        "mha/query/kernel": [2, 3, 6, 7, 10, 11],
        "mha/query/bias": [2, 3],
        "mha/output/kernel": [6, 7, 8, 9, 10, 11],
    }
    assert flat({"query": elements.units(3)}, ATTENTION) == {"mha/query/kernel": [3, 7, 11], "mha/query/bias": [3]}


def test_units_of_several_layers_are_ambiguous():
    """A layer around several has no units of its own, nor has one of several cells."""
    rows = [row._replace(address="block/" + row.address, layer="block/" + row.layer) for row in DENSE]
    with pytest.raises(AmbiguousWeight, match="holds several: block/hidden, block/out; write one of them"):
        build_masks({"block": elements.units(0)}, rows)
    with pytest.raises(AmbiguousWeight, match="holds several"):
        build_masks({"block": elements.all() & ~elements.units(0)}, rows)
    cells = [Weight("rnn/kernel" + end, (1, 2), layer="rnn", role="kernel", unit_axis=-1) for end in ("", "~2")]
    with pytest.raises(AmbiguousWeight, match="holds several; write the address of one"):
        build_masks({"rnn": elements.units(0)}, cells)


def test_gates():
    """Their columns of each weight of the cell; in a layer around several cells those of each."""
    assert flat({"lstm": elements.gates("forget")}, LSTM) == {"lstm/kernel": [2, 3], "lstm/bias": [2, 3]}
    assert flat({"lstm": elements.gates(["input", "output"])}, LSTM)["lstm/bias"] == [0, 1, 6, 7]
    assert flat({"lstm/bias": elements.gates("candidate")}, LSTM) == {"lstm/bias": [4, 5]}
    both = [row._replace(address="bi/" + row.address, layer="bi/" + row.layer) for row in LSTM]
    both += [row._replace(address=row.address.replace("lstm", "b"), layer="bi/b") for row in both]
    assert len(flat({"bi": elements.gates("forget")}, both)) == 4
    rows = [LSTM[0], Weight("lstm/extra", (4,), layer="lstm")]
    assert list(flat({"lstm": elements.gates("forget")}, rows)) == ["lstm/kernel"]
    assert flat({"lstm": elements.gates("forget") & elements.units(0)}, LSTM)["lstm/bias"] == [2]


def test_gates_that_stand_twice():
    """A cell with two biases has each gate twice."""
    row = Weight("c/bias", (6,), layer="c", gates=elements.GRU_GATES * 2, unit_axis=-1)
    assert flat({"c": elements.gates("reset")}, [row]) == {"c/bias": [1, 4]}
    assert flat({"c": elements.units(0)}, [row]) == {"c/bias": [0, 1, 2, 3, 4, 5]}


def test_a_bare_array():
    """The axis and the order are given in the spec."""
    array = np.zeros((2, 4))
    assert flat({"w": elements.units(1, axis=0)}, {"w": array}) == {"w": [4, 5, 6, 7]}
    assert flat({"w": elements.units(5, axis=[0, 1])}, {"w": array}) == {"w": [5]}
    order = ["input", "cell", "forget", "output"]
    assert flat({"w": elements.gates("forget", order=order)}, {"w": array}) == {"w": [2, 6]}
    with pytest.raises(SpecValueError, match=r"entry 1, 'w': .*give units\(\[1\], axis=-1\)"):
        build_masks({"w": elements.units(1)}, {"w": array})
    with pytest.raises(SpecValueError, match="entry 1, 'w': the order of its gates is not known"):
        build_masks({"w": elements.gates("forget")}, {"w": array})
    with pytest.raises(SpecValueError, match="no 3 gates of equal size"):
        build_masks({"w": elements.gates("reset", order=elements.GRU_GATES)}, {"w": array})
    with pytest.raises(ElementIndexError, match="axis 2 is out of range"):
        build_masks({"w": elements.units(1, axis=2)}, {"w": array})


@pytest.mark.parametrize(
    "element, text",
    [
        (elements.units([0, 3]), '{"units": [0, 3]}'),
        (elements.units(np.int64(1), axis=-1), '{"units": [1], "axis": -1}'),
        (
            elements.units(range(2), axis=(1, 2), statistics=True),
            '{"units": [0, 1], "axis": [1, 2], "statistics": true}',
        ),
        (elements.gates("forget"), '{"gates": "forget"}'),
        (elements.gates(["update", "reset"]), '{"gates": ["update", "reset"]}'),
        (elements.gates("a", order=["b", "a"]), '{"gates": "a", "order": ["b", "a"]}'),
    ],
)
def test_in_a_file(element, text):
    spec = FreezeSpec({"layer": element})
    assert '"elements": {}'.format(text) in spec.to_json()
    assert FreezeSpec.from_json(spec.to_json()) == spec
    assert eval(repr(element), vars(elements)) == element


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: elements.units([]), SpecValueError, "selects nothing"),
        (lambda: elements.units(True), SpecTypeError, "a list of ints"),
        (lambda: elements.units([1.0]), SpecTypeError, "must be an int"),
        (lambda: elements.units("0"), SpecTypeError, "a list of ints"),
        (lambda: elements.units(0, axis="last"), SpecTypeError, "must be an int"),
        (lambda: elements.units(0, statistics="yes"), SpecTypeError, "True or False"),
        (lambda: elements.gates("forgot"), SpecValueError, "there is no gate 'forgot'; gates: input, forget"),
        (lambda: elements.gates([]), SpecTypeError, "named by text"),
        (lambda: elements.gates(1), SpecTypeError, "named by text"),
        (lambda: elements.gates("a", order=["b"]), SpecValueError, "there is no gate 'a'; gates: b"),
        (lambda: elements.gates("a", order=["a", "a"]), SpecValueError, "twice"),
        (lambda: build_masks({"lstm/bias": elements.gates("reset")}, LSTM), SpecValueError, "it has no gate reset"),
        (lambda: build_masks({"lstm": elements.gates("reset")}, LSTM), SpecValueError, "selects no element"),
        (lambda: build_masks({"hidden": elements.units(3)}, DENSE), ElementIndexError, "hidden/kernel: unit 3"),
        (lambda: build_masks({"hidden": (0, 1)}, DENSE), AmbiguousWeight, "this is a layer"),
        (lambda: build_masks({"bn/moving*": elements.units(0)}, NORM), UnknownWeight, "not trainable"),
    ],
)
def test_what_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()
