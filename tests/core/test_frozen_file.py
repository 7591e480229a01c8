"""The file of Frozen.save: the very bits there and back, and a clear error for every other file."""

import json

import numpy as np
import pytest

from freezecompat import Weight, _frozen_file
from freezecompat._frozen_file import SavedFreeze, differing, mismatches, saved_weight
from freezecompat.element_set import ElementSet
from freezecompat.exceptions import SpecValueError

ODD = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 2.0])


def saved_of(*arrays):
    weights = []
    for k, array in enumerate(arrays):
        row = Weight("layer/w{}".format(k), array.shape, str(array.dtype))
        weights.append(saved_weight(row, ElementSet.from_flat(array.shape, range(0, array.size, 2)), array))
    return SavedFreeze('{"freezecompat": 1}', tuple(weights))


def same(a, b):
    return a.spec == b.spec and all(
        (x.address, x.shape, x.dtype, x.held.tobytes()) == (y.address, y.shape, y.dtype, y.held.tobytes())
        and x.elements == y.elements
        for x, y in zip(a.weights, b.weights)
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i4", "?"])
def test_there_and_back(tmp_path, dtype):
    """Every bit of odd values, of a matrix and of a scalar."""
    with np.errstate(all="ignore"):
        array = np.array([ODD, ODD]).astype(dtype)
    saved = saved_of(array, np.array(array[0, 2]))
    _frozen_file.write(tmp_path / "frozen", saved, "1.2")
    read = _frozen_file.read(tmp_path / "frozen")
    assert same(read, saved)
    assert read.weights[0].values(array.dtype).tobytes() == array.reshape(-1)[::2].tobytes()
    assert not differing(read, {"layer/w0": array, "layer/w1": array[0, 2]}.__getitem__)
    with np.load(str(tmp_path / "frozen")) as arrays:  # the format that its docs describe
        header = json.loads(arrays["header"].tobytes().decode("utf-8"))
    assert header["version"] == "1.2" and header["weights"][0]["shape"] == [2, 7]


def test_nothing_frozen(tmp_path):
    _frozen_file.write(tmp_path / "frozen.npz", SavedFreeze(None, ()), "1")
    assert _frozen_file.read(tmp_path / "frozen.npz") == SavedFreeze(None, ())


def test_what_a_schedule_has_done(tmp_path):
    """It is kept as it is given; a file without it has none."""
    done = {"steps": 7, "times": [1, 0], "schedule": None}
    _frozen_file.write(tmp_path / "frozen.npz", SavedFreeze(None, (), done), "1")
    assert _frozen_file.read(tmp_path / "frozen.npz").schedule_done == done
    _frozen_file.write(tmp_path / "frozen.npz", SavedFreeze(None, ()), "1")
    assert _frozen_file.read(tmp_path / "frozen.npz").schedule_done is None


def test_what_differs():
    """Weights that are not there, of another shape or dtype; values by their bits, the first one shown."""
    saved = saved_of(np.zeros((2, 3), "f4"), np.ones(4, "f4"), np.ones(2, "f4"))
    rows = [Weight("layer/w0", (3, 2)), Weight("layer/w1", (4,), "float16"), Weight("other", (2,))]
    assert mismatches(saved, rows) == [
        "layer/w0: saved (2, 3) float32, here (3, 2) float32",
        "layer/w1: saved (4,) float32, here (4,) float16",
        "layer/w2: saved (2,) float32, here none",
    ]
    present = {"layer/w0": np.zeros((2, 3), "f4"), "layer/w1": np.ones(4, "f4"), "layer/w2": np.ones(2, "f4")}
    present["layer/w0"][0, 2] = -0.0
    present["layer/w0"][0, 1] = 5.0  # free
    assert differing(saved, present.__getitem__) == {
        "layer/w0": "layer/w0: 1 of 3 held values differ, [0, 2]: saved 0.0, here -0.0"
    }


def broken_files(path):
    """Files that are none, made from a good one."""
    saved = saved_of(np.zeros((2, 3), "f4"))
    _frozen_file.write(path, saved, "1")
    good = path.read_bytes()
    yield "empty", b""
    yield "text", b"hello"
    yield "cut", good[: len(good) // 2]
    with np.load(str(path)) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    header = json.loads(parts["header"].tobytes().decode())

    def changed(**changes):
        text = json.dumps(dict(header, **changes)).encode()
        return dict(parts, header=np.frombuffer(text, np.uint8))

    row = header["weights"][0]
    for name, contents in {
        "no header": {"mask_0": parts["mask_0"]},
        "no JSON": dict(parts, header=np.zeros(3, np.uint8)),
        "version": changed(freezecompat_frozen=2),
        "key": changed(more=1),
        "negative shape": changed(weights=[dict(row, shape=[-1])]),
        "huge shape": changed(weights=[dict(row, shape=[2**40, 2**40])]),
        "text shape": changed(weights=[dict(row, shape="ab")]),
        "count": changed(weights=[dict(row, frozen=5)]),
        "mask": dict(parts, mask_0=np.zeros(9, np.uint8)),
        "held": dict(parts, held_0=np.zeros((1, 4), np.uint8)),
        "held of another dtype": dict(parts, held_0=np.zeros((3, 4))),
        "pickle": dict(parts, held_0=np.array([object()])),
        "masks": {"kernel": np.ones(3, bool)},
    }.items():
        np.savez(str(path) + ".npz", **contents)
        with open(str(path) + ".npz", "rb") as file:
            yield name, file.read()


def test_broken_files(tmp_path):
    """Each is refused with the file's name, and nothing of it is run."""
    names = []
    for name, content in broken_files(tmp_path / "good"):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(SpecValueError, match=r"bad\.npz is no file of frozen\.save"):
            _frozen_file.read(tmp_path / "bad.npz")
            pytest.fail(name)
        names.append(name)
    assert len(names) == 16
    with pytest.raises(FileNotFoundError):
        _frozen_file.read(tmp_path / "none.npz")


def test_a_failure_leaves_what_was_there(tmp_path):
    """No half-written file, no file beside it."""
    path = tmp_path / "frozen.npz"
    path.write_bytes(b"before")
    broken = SavedFreeze(None, (saved_of(np.zeros(2, "f4")).weights[0]._replace(shape=object()),))
    with pytest.raises(TypeError):
        _frozen_file.write(path, broken, "1")
    assert path.read_bytes() == b"before" and [p.name for p in tmp_path.iterdir()] == ["frozen.npz"]
