"""Weights in .h5 and .keras files: canonical addresses and what axes mean where a file tells, else what it calls them.

The files are written here with h5py, group by group as each Keras writes them; tests/tf/eager has real ones.
"""

import json
import sys
import zipfile

import h5py
import numpy as np
import pytest

from freezecompat import cli, elements
from freezecompat.masks import build
from freezecompat.exceptions import MissingDependency, UnknownWeight
from freezecompat.model_files import open_model


def layer(class_name, name, **config):
    return {"class_name": class_name, "config": dict(config, name=name)}


def model(*layers, **config):
    return dict(layer("Functional", "model", layers=list(layers), **config))


HIDDEN = layer("Dense", "hidden", use_bias=True)
NESTED = model(layer("InputLayer", "input"), HIDDEN, layer("Sequential", "twin", layers=[layer("Dense", "dense")]))


def numbered(shape, start=0):
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def write_names(path, layers, config=None, of_model=()):
    """Keras' older format: {layer: [(native name, array), ...]}."""
    with h5py.File(path, "w") as file:
        root = file
        if config is not None:
            file.attrs["model_config"] = json.dumps(config)
            root = file.create_group("model_weights")
        root.attrs["layer_names"] = [name.encode() for name in layers]
        for name, weights in list(layers.items()) + [("top_level_model_weights", of_model)]:
            group = root.create_group(name)
            group.attrs["weight_names"] = [native.encode() for native, _ in weights]
            for native, values in weights:
                group[native] = values
        root.create_group("optimizer_weights")["adam"] = np.zeros(3)


def write_groups(path, weights, names=()):
    """Keras' newer format: {path of a layer: arrays}; names are those that later Keras 3 adds."""
    with h5py.File(path, "w") as file:
        for place, arrays in weights.items():
            group = file.require_group(place + "/vars")
            for k, values in enumerate(arrays):
                group[str(k)] = values
        for place, name in dict(names).items():
            file.require_group(place + "/vars").attrs["name"] = name
        file.require_group("optimizer/vars")["0"] = np.zeros(3)
        file.require_group("layers/dropout/seed_generator/vars")["0"] = np.zeros(2, np.uint32)


def write_keras(path, config, weights, names=(), compression=zipfile.ZIP_STORED):
    write_groups("model.weights.h5", weights, names)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.write("model.weights.h5")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def addresses(path):
    return [row.address for row in open_model(path).rows]


def row(path, address):
    return next(row for row in open_model(path).rows if row.address == address)


def test_older_format_with_config():
    """Names from the tree of layers, not from the native ones: Keras 2 leaves out what is around a nested model."""
    native = {
        "input": [],
        "hidden": [("hidden/kernel:0", numbered((4, 3))), ("hidden/bias:0", numbered(3))],
        "twin": [("dense/kernel:0", numbered((3, 2), 5)), ("dense/bias:0", numbered(2, 7))],
    }
    write_names("a.h5", native, NESTED)
    assert addresses("a.h5") == ["hidden/kernel", "hidden/bias", "twin/dense/kernel", "twin/dense/bias"]
    assert open_model("a.h5").read("twin/dense/kernel").tolist() == [[5, 6], [7, 8], [9, 10]]
    found = row("a.h5", "twin/dense/kernel")
    assert (found.shape, found.dtype, found.name, found.ordinal) == ((3, 2), "float32", "dense/kernel:0", 2)
    assert (found.layer, found.role, found.unit_axis) == ("twin/dense", "kernel", -1)


def test_what_is_not_trained():
    """Where the config says so, of a layer and of all inside it; the statistics of a normalization never are."""
    norm = layer("BatchNormalization", "norm", trainable=True, scale=False)
    frozen = layer("Sequential", "block", trainable=False, layers=[layer("Dense", "dense", use_bias=False)])
    weights = {
        "block": [("dense/kernel:0", numbered((2, 2)))],
        "norm": [("norm/" + role + ":0", numbered(2)) for role in ("beta", "moving_mean", "moving_variance")],
    }
    write_names("a.h5", weights, model(frozen, norm))
    found = [(row.address, row.trainable, row.ordinal) for row in open_model("a.h5").rows]
    assert found == [
        ("block/dense/kernel", False, None),
        ("norm/beta", True, 0),
        ("norm/moving_mean", False, None),
        ("norm/moving_variance", False, None),
    ]


def test_trained_weights_come_first_in_the_older_format():
    """Keras writes a nested model's weights in this order, and it is not that of the tree."""
    inner = layer("Sequential", "inner", layers=[layer("BatchNormalization", "norm"), layer("Dense", "dense")])
    order = ["norm/gamma", "norm/beta", "dense/kernel", "dense/bias", "norm/moving_mean", "norm/moving_variance"]
    write_names("a.h5", {"inner": [(name + ":0", numbered(2, k)) for k, name in enumerate(order)]}, model(inner))
    file = open_model("a.h5")
    assert [row.address for row in file.rows] == ["inner/" + name for name in order[:2] + order[4:] + order[2:4]]
    assert [file.read("inner/" + name)[0] for name in order] == [0, 1, 2, 3, 4, 5]
    assert row("a.h5", "inner/dense/bias").ordinal == 3  # so they were found by their order, and not by their names


def test_older_format_without_config():
    """save_weights writes no config: native names, without what the layer and automatic cells are called in them."""
    weights = {
        "hidden": [("model/hidden/kernel:0", numbered((4, 3)))],
        "again": [("again_1/kernel:0", numbered((4, 3)))],
        "conv1/conv": [("conv1/conv/kernel:0", numbered((4, 3)))],
        "lstm": [("lstm/lstm_cell_1/kernel:0", numbered((4, 8)))],
        "stack": [("stack/kernel:0", numbered((4, 3))), ("stack/kernel_1:0", numbered((3, 3)))],
        "outer": [("outer/one/kernel:0", numbered((4, 3))), ("outer/name:0", numbered(3))],
    }
    write_names("a.h5", weights, of_model=[("model/scale:0", numbered(2))])
    assert addresses("a.h5") == [
        "scale",
        "hidden/kernel",
        "again/kernel",
        "conv1/conv/kernel",
        "lstm/kernel",
        "stack/kernel",
        "stack/kernel~2",
        "outer/name",
        "outer/one/kernel",
    ]
    found = row("a.h5", "hidden/kernel")
    assert (found.name, found.unit_axis, found.ordinal) == ("model/hidden/kernel:0", None, None)


def test_unknown_classes_have_their_native_names():
    """A custom layer, or one whose weights are not those that its config promises, beside known ones."""
    weights = {
        "custom": [("custom/inner/w:0", numbered(3))],
        "hidden": [("hidden/kernel:0", numbered((4, 3))), ("hidden/scale:0", numbered(3))],
    }
    write_names("a.h5", weights, model(layer("Custom", "custom"), HIDDEN))
    assert addresses("a.h5") == ["custom/inner/w", "hidden/kernel", "hidden/scale"]


def test_a_layer_in_two_models_leaves_the_order_open():
    """Keras 2 writes it twice, and two layers of one name look the same."""
    inner = layer("Sequential", "inner", layers=[HIDDEN])
    weights = [("hidden/kernel:0", numbered((4, 3))), ("hidden/bias:0", numbered(3))]
    write_names("a.h5", {"hidden": weights, "inner": weights}, model(HIDDEN, inner))
    assert addresses("a.h5") == ["hidden/kernel", "hidden/bias", "inner/hidden/kernel", "inner/hidden/bias"]
    assert {(row.ordinal, row.unit_axis) for row in open_model("a.h5").rows} == {(None, -1)}


def test_an_address_that_is_not_unique_is_one_line(capsys):
    weights = {name: [("kernel", numbered(2))] for name in ("a", "a~2")}
    write_names("a.h5", weights)
    with h5py.File("a.h5", "r+") as file:
        file.attrs["layer_names"] = [b"a", b"a", b"a~2"]
    assert cli.main(["list", "a.h5"]) == 2
    error = "freezecompat: can't read a.h5: two weights in it have the address 'a~2/kernel'\n"
    assert capsys.readouterr().err == error


def test_long_lists_of_names_are_in_parts():
    with h5py.File("a.h5", "w") as file:
        file.attrs["layer_names0"], file.attrs["layer_names1"] = [b"a"], [b"b"]
        for name in "ab":
            file.create_group(name).attrs["weight_names"] = [b"kernel"]
            file[name]["kernel"] = numbered(2)
    assert addresses("a.h5") == ["a/kernel", "b/kernel"]


GRU = layer("GRU", "gru", use_bias=True)
TREE = model(
    layer("InputLayer", "input"),
    layer("Dense", "one"),
    layer("Bidirectional", "both", layer=GRU),
    layer("Dense", "two", use_bias=False),
    layer("RNN", "stack", cell=layer("StackedRNNCells", "stacked", cells=[layer("LSTMCell", "lstm_cell")] * 2)),
    layer("TimeDistributed", "each", layer=layer("Conv2DTranspose", "conv")),
    layer("MultiHeadAttention", "attention", key_dim=3, use_bias=False),
)
GROUPS = {
    "layers/dense": [numbered((4, 3)), numbered(3)],
    "layers/dense_1": [numbered((5, 3))],
    "layers/bidirectional/forward_layer/cell": [numbered((4, 6)), numbered((2, 6)), numbered((2, 6))],
    "layers/bidirectional/backward_layer/cell": [numbered((4, 6)), numbered((2, 6)), numbered((2, 6))],
    "layers/rnn/cell/cells/lstm_cell": [numbered((4, 8)), numbered((2, 8)), numbered(8)],
    "layers/rnn/cell/cells/lstm_cell_1": [numbered((2, 8), 5), numbered((2, 8)), numbered(8)],
    "layers/time_distributed/layer": [numbered((2, 2, 3, 4)), numbered(3)],
    "layers/multi_head_attention/query_dense": [numbered((4, 2, 3))],
    "layers/multi_head_attention/_output_dense": [numbered((2, 3, 4))],
}


def test_keras_archive():
    """Layers by the config; what the axes of their weights mean, as of a live model."""
    write_keras("a.keras", TREE, GROUPS)
    assert [name for name in addresses("a.keras") if not name.startswith("both/backward")] == [
        "one/kernel",
        "one/bias",
        "both/forward_gru/kernel",
        "both/forward_gru/recurrent_kernel",
        "both/forward_gru/bias",
        "two/kernel",
        "stack/stacked/kernel",
        "stack/stacked/recurrent_kernel",
        "stack/stacked/bias",
        "stack/stacked/kernel~2",
        "stack/stacked/recurrent_kernel~2",
        "stack/stacked/bias~2",
        "each/conv/kernel",
        "each/conv/bias",
        "attention/query/kernel",
        "attention/attention_output/kernel",
    ]
    assert open_model("a.keras").read("stack/stacked/kernel~2")[0, 0] == 5
    assert row("a.keras", "both/backward_gru/kernel").gates == ("update", "reset", "candidate")
    assert row("a.keras", "each/conv/kernel").unit_axis == -2
    assert row("a.keras", "attention/query/kernel").outer_units == ("attention", -2)
    assert row("a.keras", "two/kernel").ordinal == 8


def test_compressed_archive():
    """Keras writes none; another program that packs it again may."""
    write_keras("a.keras", TREE, GROUPS, compression=zipfile.ZIP_DEFLATED)
    assert open_model("a.keras").read("one/kernel").tolist() == numbered((4, 3)).tolist()


def test_units_of_a_layer_in_a_file():
    write_keras("a.keras", TREE, GROUPS)
    file = open_model("a.keras")
    sets = build({"one": elements.units([1]), "each/conv": elements.units([0])}, file.rows).sets
    assert {name: chosen.count for name, chosen in sets.items()} == {
        "one/kernel": 4,
        "one/bias": 1,
        "each/conv/kernel": 16,
        "each/conv/bias": 1,
    }


def test_names_in_a_file_of_weights():
    """Keras 3 writes the names of layers, so that no config is needed; roles are told where they can only be these."""
    weights = {
        "layers/dense": [numbered((4, 3)), numbered(3)],
        "layers/dense_1": [numbered((4, 3))],
        "layers/bidirectional/forward_layer/cell": [numbered((4, 6)), numbered((2, 6)), numbered((2, 6))],
        "layers/layer_normalization": [numbered(3)],
        "head": [numbered((4, 3)), numbered(3)],
    }
    names = {
        "layers/dense": "hidden",
        "layers/dense_1": "out",
        "layers/bidirectional": "both",
        "layers/bidirectional/forward_layer": "forward_gru",
        "layers/bidirectional/forward_layer/cell": "gru_cell",
        "layers/layer_normalization": "norm",
    }
    write_groups("a.weights.h5", weights, names)
    assert addresses("a.weights.h5") == [
        "head/0",
        "head/1",
        "both/forward_gru/kernel",
        "both/forward_gru/recurrent_kernel",
        "both/forward_gru/bias",
        "hidden/kernel",
        "hidden/bias",
        "out/kernel",
        "norm/0",
    ]
    assert row("a.weights.h5", "hidden/kernel").name == "layers/dense/vars/0"


def test_paths_in_a_file_of_weights():
    """Keras 2 writes no names: then the path of the group, without `layers` and `vars`."""
    weights = {"layers/dense_{}".format(k): [numbered((4, 3))] for k in (1, 2, 10)}
    weights["layers/block/parts/dense"] = [numbered((4, 3)), numbered(3)]
    weights["layers/block"] = [numbered(2), numbered(2)]
    write_groups("a.weights.h5", weights)
    assert addresses("a.weights.h5") == [
        "block/0",
        "block/1",
        "block/parts/dense/kernel",
        "block/parts/dense/bias",
        "dense_1/kernel",
        "dense_2/kernel",
        "dense_10/kernel",
    ]


def test_layers_of_one_name_in_a_file_of_weights():
    """Without a config nothing says which of them comes first, so neither is called `~2`."""
    weights = {"layers/dense": [numbered((4, 3))], "layers/conv1d": [numbered((1, 4, 3))]}
    write_groups("a.weights.h5", weights, {place: "twin" for place in weights})
    assert addresses("a.weights.h5") == ["layers/conv1d/kernel", "layers/dense/kernel"]


def test_no_position_where_the_order_is_not_known():
    write_groups("a.weights.h5", {"layers/dense": [numbered((4, 3))]})
    with pytest.raises(
        UnknownWeight, match="no weight '#0': the order of these weights is not known. Weights: dense/k"
    ):
        build({"#0": "all"}, open_model("a.weights.h5").rows)


def test_custom_layers_in_an_archive():
    """What the config does not tell comes from the groups, with their names; then no position is known either."""
    weights = {
        "layers/dense": [numbered((4, 3)), numbered(3)],
        "layers/custom": [numbered(2)],
        "layers/custom/x": [numbered(3)],
    }
    write_keras("a.keras", model(layer("Custom", "mine"), HIDDEN), weights)
    assert addresses("a.keras") == ["mine/0", "mine/x/0", "hidden/kernel", "hidden/bias"]
    assert row("a.keras", "hidden/kernel").ordinal is None


def test_folder_of_an_archive(tmp_path):
    """What save_model(zipped=False) writes."""
    (tmp_path / "saved").mkdir()
    write_groups("saved/model.weights.h5", {"layers/dense": [numbered((4, 3)), numbered(3)]})
    (tmp_path / "saved" / "config.json").write_text(json.dumps(model(HIDDEN)))
    assert addresses("saved") == ["hidden/kernel", "hidden/bias"]


@pytest.mark.parametrize("shape", [(4, 6, 5), (1, 60, 2), (0, 3), (), (7,)], ids=str)
@pytest.mark.parametrize("options", [{}, {"chunks": True, "compression": "gzip"}], ids=["plain", "compressed"])
def test_blocks(shape, options, monkeypatch):
    """Any shape, in C order, a few bytes at a time."""
    monkeypatch.setattr("freezecompat.model_files.hdf5.BLOCK_BYTES", 48)
    values = numbered(shape)
    with h5py.File("a.h5", "w") as file:
        file.attrs["layer_names"] = [b"a"]
        file.create_group("a").attrs["weight_names"] = [b"w"]
        file["a"].create_dataset("w", data=values, **(options if values.size and values.ndim else {}))
    blocks = list(open_model("a.h5").blocks("a/w"))
    assert max(len(block) for block in blocks) <= 12
    assert np.concatenate(blocks).tolist() == values.reshape(-1).tolist()


def test_dtypes():
    """Other orders of bytes are one dtype; bfloat16 is two bytes of no kind, and counts as the float32 of that value."""
    values = np.array([1.5, -0.0, np.inf], "<f4")
    halves = (values.view("<u4") >> 16).astype("<u2").view("V2")
    weights = {
        "a": [("big", values.astype(">f4")), ("half", values.astype("f2")), ("brain", halves), ("int", np.arange(3))]
    }
    write_names("a.h5", weights)
    np.savez("a.npz", **{"a/big": values, "a/brain": halves})
    file = open_model("a.h5")
    assert [row.dtype for row in file.rows] == ["float32", "float16", "bfloat16", "int64"]
    for address in ("a/big", "a/brain"):
        assert [block.tobytes() for block in file.blocks(address)] == [values.tobytes()]
    assert [row.dtype for row in open_model("a.npz").rows] == ["float32", "bfloat16"]
    assert open_model("a.npz").read("a/brain").tobytes() == values.tobytes()


def test_verify_across_formats(tmp_path, capsys):
    """From an .h5 to a .keras and to an .npz, where the elements are those of a layer's units."""
    before = {"hidden/kernel": numbered((4, 3)), "hidden/bias": numbered(3)}
    write_names("before.h5", {"hidden": [(name + ":0", values) for name, values in before.items()]}, model(HIDDEN))
    (tmp_path / "spec.json").write_text(
        '{"freezecompat": 1, "freeze": [{"weight": "hidden", "elements": {"units": [1]}}]}'
    )
    after = {name: values.copy() for name, values in before.items()}
    after["hidden/kernel"][0, 0] = 7.0  # free
    write_keras("after.keras", model(HIDDEN), {"layers/dense": list(after.values())})
    assert cli.main(["verify", "before.h5", "after.keras", "--spec", "spec.json"]) == 0
    after["hidden/kernel"][2, 1] = 9.0
    np.savez("after.npz", **after)
    assert cli.main(["verify", "before.h5", "after.npz", "--spec", "spec.json"]) == 1
    assert "hidden/kernel  [2, 1]   7.0     9.0\n1 of 5 frozen" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, text",
    [
        ("missing.h5", "No such file or directory"),
        ("text.h5", "file signature not found"),
        ("other.h5", "it holds no weights as Keras writes them"),
        ("missing.keras", "No such file or directory"),
        ("text.keras", "File is not a zip file"),
        ("other.keras", "it holds no config.json and no model.weights.h5"),
    ],
)
def test_what_is_no_such_file_is_one_line(tmp_path, capsys, name, text):
    for ending in ("h5", "keras"):
        (tmp_path / ("text." + ending)).write_text("hello")
    with h5py.File("other.h5", "w") as file:
        file["w"] = numbered(3)
    with zipfile.ZipFile("other.keras", "w") as archive:
        archive.writestr("a", "")
    assert cli.main(["list", name]) == 2
    error = capsys.readouterr().err
    assert error.startswith("freezecompat: can't read {}: ".format(name)) and error.count("\n") == 1 and text in error


def test_without_h5py_the_extra_is_named(monkeypatch):
    write_names("a.h5", {"a": []})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependency, match=r'^HDF5 files need h5py: pip install "freezecompat\[files\]"$'):
        open_model("a.h5")
