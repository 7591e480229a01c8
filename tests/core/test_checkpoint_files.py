"""Checkpoints and SavedModels without TensorFlow: which variables are weights, and what they are called.

The files are written here byte by byte; tests/tf has those of TensorFlow.
"""

import json
import struct
import sys

import numpy as np
import pytest

from freezecompat import cli
from freezecompat.exceptions import AmbiguousWeight, MissingDependency, UnknownWeight
from freezecompat.model_files import open_model
from freezecompat.model_files.compare import compare
from freezecompat.model_files.table import MAGIC

CODES = {"float32": 1, "int64": 9, "bfloat16": 14}
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def number(value):
    """A varint."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + number(value // 128)


def message(*fields):
    """A protocol buffer of (number of the field, int, text or message)."""
    found = b""
    for place, value in fields:
        if isinstance(value, int):
            found += number(place * 8) + number(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            found += number(place * 8 + 2) + number(len(value)) + value
    return found


def block(items):
    """A block of a table; each key with what it shares with the one before left out."""
    found, before = b"", b""
    for key, value in items:
        shared = next((k for k in range(len(key)) if key[: k + 1] != before[: k + 1]), len(key))
        found += number(shared) + number(len(key) - shared) + number(len(value)) + key[shared:] + value
        before = key
    return found + struct.pack("<II", 0, 1)


def table(items):
    items = sorted(items)
    halves = [items[: len(items) // 2], items[len(items) // 2 :]]
    data, handles = b"", []
    for half in halves:
        part = block(half)
        handles.append((half[-1][0] if half else b"", number(len(data)) + number(len(part))))
        data += part + b"\0" * 5
    index = block(handles)
    footer = number(0) + number(0) + number(len(data)) + number(len(index))
    return data + index + b"\0" * 5 + footer.ljust(40, b"\0") + MAGIC


def write_bundle(prefix, arrays, graph=None):
    """A checkpoint of format V2: {key: array}."""
    items, data = [(b"", message((1, 1)))], b""
    for key, values in arrays.items():
        dtype = "bfloat16" if values.dtype.kind == "V" else str(values.dtype)
        shape = message(*[(2, message((1, length))) for length in values.shape])
        entry = message((1, CODES[dtype]), (2, shape), (4, len(data)), (5, values.nbytes))
        items.append((key.encode(), entry))
        data += values.tobytes()
    if graph is not None:
        text = number(len(graph)) + b"\0" * 4 + graph
        items.append((b"_CHECKPOINTABLE_OBJECT_GRAPH", message((1, 7), (2, b""), (4, len(data)), (5, len(text)))))
        data += text
    with open(prefix + ".index", "wb") as file:
        file.write(table(items))
    with open(prefix + ".data-00000-of-00001", "wb") as file:
        file.write(data)


def write_objects(prefix, *nodes):
    """A checkpoint of objects: (children, name of its variable or None, slots) of each node."""
    graph, arrays = b"", {}
    for place, (children, name, slots) in enumerate(nodes):
        parts = [(1, message((1, child), (2, local))) for local, child in children.items()]
        if name is not None:
            key = "key{}{}".format(place, VALUE)
            arrays[key] = np.full(3, place, np.float32)
            parts.append((2, message((1, "VARIABLE_VALUE"), (2, name), (3, key))))
        parts += [(3, message((1, original), (2, "m"), (3, slot))) for original, slot in slots.items()]
        graph += message((1, message(*parts)))
    write_bundle(prefix, arrays, graph)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def found(path):
    """{address: first value}"""
    file = open_model(path)
    return {row.address: file.read(row.address).reshape(-1)[0] for row in file.rows}


def full(value, *shape):
    return np.full(shape, value, np.float32)


def test_named_variables():
    """Slots and counters of steps are left out, and nothing that only looks like them."""
    arrays = {
        "hidden/kernel": full(1, 4, 3),
        "hidden/kernel/Adam": full(2, 4, 3),
        "hidden/kernel/Adam_1": full(3, 4, 3),
        "other/Adam": full(4, 3),  # no variable `other`
        "hidden/kernel/Momentum": full(5, 3),  # of another shape
        "hidden/kernel/scale": full(6, 4, 3),  # no name of a slot
        "training/Adam/hidden/kernel/m": full(7, 4, 3),
        "beta1_power": full(8),
        "model/beta1_power": full(9, 2),
        "global_step": np.array(10, np.int64),
    }
    write_bundle("model.ckpt-10", arrays)
    assert found("model.ckpt-10") == {
        "hidden/kernel": 1,
        "hidden/kernel/Momentum": 5,
        "hidden/kernel/scale": 6,
        "model/beta1_power": 9,
        "other/Adam": 4,
    }
    assert open_model("model.ckpt-10").left_out == (
        "beta1_power",
        "global_step",
        "hidden/kernel/Adam",
        "hidden/kernel/Adam_1",
        "training/Adam/hidden/kernel/m",
    )


def test_what_is_left_out_is_told(capsys):
    arrays = {
        "w": full(1, 3),
        "w/Adam": full(1, 3),
        "w/Adam_1": full(1, 3),
        "global_step": full(1),
        "beta1_power": full(1),
    }
    write_bundle("model", arrays)
    assert cli.main(["list", "model"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "w       (3,)   float32",
        "left out, as no weights: beta1_power, global_step, w/Adam and 1 more",
    ]


def test_objects():
    """Names of variables; not those of an optimizer, nor slots, whatever they hang on too, nor a counter of saves."""
    write_objects(
        "ckpt-1",
        ({"model": 1, "optimizer": 4, "save_counter": 7}, None, {}),
        ({"hidden": 2, "optimizer": 4}, None, {}),
        ({"kernel": 3, "kept_too": 6}, None, {}),
        ({}, "hidden/kernel", {}),
        ({"iter": 5, "decay": 5}, None, {3: 6}),
        ({}, "Adam/iter", {}),
        ({}, "Adam/hidden/kernel/m", {}),
        ({}, "save_counter", {}),
    )
    assert found("ckpt-1") == {"hidden/kernel": 3}


def test_objects_of_keras_3():
    """Layers in a user's list hang on the optimizer alone."""
    write_objects(
        "ckpt-1",
        ({"optimizer": 1, "seed": 5}, None, {}),
        ({"_iterations": 4, "_learning_rate": 4, "_trainable_variables": 2, "_variables": 4}, None, {}),
        ({"0": 3}, None, {}),
        ({}, "hidden/kernel", {}),
        ({}, "adam/iteration", {}),
        ({}, "dropout/seed_generator_state", {}),
    )
    assert found("ckpt-1") == {"hidden/kernel": 3}


def test_names_that_are_not_unique():
    """An automatic name of a cell counts where it tells two apart; else the path of attributes does."""
    write_objects(
        "ckpt-1",
        ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}, None, {}),
        ({}, "lstm/lstm_cell/kernel", {}),
        ({}, "stack/lstm_cell/bias", {}),
        ({}, "stack/gru_cell/bias", {}),
        ({}, "dense/kernel", {}),
        ({}, "dense/kernel", {}),
        ({}, "", {}),
    )
    expected = {"lstm/kernel": 1, "stack/lstm_cell/bias": 2, "stack/gru_cell/bias": 3, "d": 4, "e": 5, "f": 6}
    assert found("ckpt-1") == expected


def test_metrics_and_copies_in_a_saved_model(tmp_path):
    """model.save of Keras 2 has the metrics, model.export of Keras 3 each weight twice."""
    for name in ("saved", "exported"):
        (tmp_path / name / "variables").mkdir(parents=True)
        (tmp_path / name / "saved_model.pb").write_bytes(b"")
    write_objects(
        "saved/variables/variables",
        ({"keras_api": 1, "hidden": 3}, None, {}),
        ({"metrics": 2}, None, {}),
        ({}, "total", {}),
        ({}, "hidden/kernel", {}),
    )
    assert found("saved") == {"hidden/kernel": 3}
    lists = (
        ({"variables": 1, "_all_variables": 2}, None, {}),
        ({"0": 3, "1": 4}, None, {}),
        ({"0": 5, "1": 6}, None, {}),
    )
    leaves = [({}, name, {}) for name in ("a", "b", "b", "a")]
    write_objects("exported/variables/variables", *(lists + tuple(leaves)))
    assert found("exported") == {"a": 3, "b": 4}
    leaves[-1] = ({}, "c", {})
    write_objects("exported/variables/variables", *(lists + tuple(leaves)))
    assert found("exported") == {"a": 3, "variables/1": 4, "_all_variables/0": 5, "c": 6}


@pytest.mark.parametrize("path", ["run/ckpt-2", "run/ckpt-2.index", "run/ckpt-2.data-00000-of-00001", "run", "run/"])
def test_paths_that_mean_a_checkpoint(tmp_path, path):
    """A folder means its latest."""
    (tmp_path / "run").mkdir()
    for k in (1, 2, 3):
        write_bundle("run/ckpt-{}".format(k), {"w": full(k, 2)})
    (tmp_path / "run" / "checkpoint").write_text(
        'model_checkpoint_path: "ckpt-2"\nall_model_checkpoint_paths: "ckpt-1"\nall_model_checkpoint_paths: "ckpt-2"\n'
    )
    assert found(path) == {"w": 2}


def test_an_ending_does_not_hide_a_checkpoint():
    """save_weights("weights.h5", save_format="tf")"""
    write_bundle("weights.h5", {"w": full(1, 2)})
    assert found("weights.h5") == {"w": 1}


def test_blocks_and_dtypes(monkeypatch):
    monkeypatch.setattr("freezecompat.model_files.tensor_bundle.BLOCK_BYTES", 20)
    brain = np.array([0x3FC0, 0x8000], "<u2").view("V2")
    arrays = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": brain, "c": full(1, 0, 3), "d": full(2)}
    write_bundle("model", arrays)
    file = open_model("model")
    assert [len(block) for block in file.blocks("a")] == [5, 5, 2]
    assert file.read("a").tolist() == arrays["a"].tolist()
    assert [(row.dtype, row.shape) for row in file.rows[1:]] == [
        ("bfloat16", (2,)),
        ("float32", (0, 3)),
        ("float32", ()),
    ]
    assert file.read("b").tolist() == [1.5, -0.0] and file.read("c").shape == (0, 3) and file.read("d") == 2


def test_verify_finds_weights_by_the_end_of_their_names(tmp_path, capsys):
    """A subclassed model's variables have its name before those of its layers; in either direction."""
    write_bundle("before", {"model/hidden/kernel": full(1, 2, 2), "model/out/kernel": full(2, 2, 2)})
    np.savez("after.npz", **{"out/kernel": full(2, 2, 2), "hidden/kernel": full(1, 2, 2)})
    spec = {"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": [[0, 1]]}]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert cli.main(["verify", "before", "after.npz", "--spec", "spec.json"]) == 0
    assert cli.main(["verify", "after.npz", "before", "--spec", "spec.json"]) == 0
    np.savez("after.npz", **{"out/kernel": full(1, 2, 2), "hidden/kernel": full(2, 2, 2)})
    assert cli.main(["verify", "before", "after.npz", "--spec", "spec.json"]) == 1
    assert cli.main(["verify", "after.npz", "before", "--spec", "spec.json"]) == 1


def test_verify_takes_no_weight_twice_and_none_that_is_another():
    np.savez("one.npz", **{"a/kernel": full(1, 2), "b/kernel": full(1, 2)})
    np.savez("two.npz", kernel=full(1, 2))
    with pytest.raises(AmbiguousWeight, match="kernel of two.npz may be a/kernel and b/kernel: --names MAP.json says"):
        compare(open_model("one.npz"), open_model("two.npz"), {"*": "all"}, {})
    with pytest.raises(AmbiguousWeight, match="'kernel' fits 2 weights"):
        compare(open_model("two.npz"), open_model("one.npz"), {"*": "all"}, {})
    with pytest.raises(UnknownWeight, match="two.npz has no weight 'a/kernel'"):  # `kernel` there is `kernel` here
        np.savez("one.npz", **{"a/kernel": full(1, 2), "kernel": full(1, 2)})
        compare(open_model("one.npz"), open_model("two.npz"), {"a/kernel": "all"}, {})
    with pytest.raises(AmbiguousWeight, match=r"x/a/kernel may be each of kernel \(2,\), a/kernel \(2,\): --names"):
        np.savez("one.npz", **{"x/a/kernel": full(1, 2)})
        np.savez("two.npz", **{"kernel": full(1, 2), "a/kernel": full(1, 2)})
        compare(open_model("one.npz"), open_model("two.npz"), {"*": "all"}, {})


def broken(path):
    """(what it is, bytes of the index, what is said)"""
    with open(path, "rb") as file:
        good = file.read()
    yield good[:-1], "it is no table of TensorFlow"
    yield b"", "it is no table of TensorFlow"
    yield good[:-48] + number(0) * 2 + number(9999) + number(9) + b"\0" * 35 + MAGIC, "it ends early"
    yield good[:8] + b"\xff" * (len(good) - 56) + good[-48:], ""


def test_broken_files_are_one_line(capsys):
    write_bundle("model", {"w": full(1, 300)})
    for content, text in broken("model.index"):
        with open("bad.index", "wb") as file:
            file.write(content)
        assert cli.main(["list", "bad"]) == 2
        error = capsys.readouterr().err
        assert error.startswith("freezecompat: can't read bad: ") and error.count("\n") == 1 and text in error
    with open("model.data-00000-of-00001", "r+b") as file:
        file.truncate(50)
    with open("spec.json", "w") as file:
        json.dump({"freezecompat": 1, "freeze": [{"weight": "w", "elements": {"zeros": True}}]}, file)
    assert cli.main(["masks", "model", "--spec", "spec.json"]) == 2
    assert "model.data-00000-of-00001 ends early" in capsys.readouterr().err


def test_a_folder_of_nothing_is_one_line(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert cli.main(["list", "empty"]) == 2
    assert capsys.readouterr().err == (
        "freezecompat: can't read empty: a folder is that of a SavedModel or of an unpacked .keras archive, or has a "
        "`checkpoint` file\n"
    )


def test_format_v1_needs_tensorflow(monkeypatch):
    """One file of any name, known by its last bytes."""
    with open("old", "wb") as file:
        file.write(table([(b"", b"")]))
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(MissingDependency, match=r'of format V1 .* need TensorFlow: pip install "freezecompat\[tensorf'):
        open_model("old")
