"""freezecompat list, masks and verify on files of numpy: which elements moved, exit codes, one line for a usage error."""

import json
import os

import numpy as np
import pytest

from freezecompat import cli
from freezecompat.model_files import open_model

KERNEL = np.arange(12, dtype=np.float32).reshape(4, 3)
SPEC = {"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": [[0, 0], [1, 2], [3, 1]]}]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files by name into the present folder: arrays as .npz, anything else as JSON."""
    monkeypatch.chdir(tmp_path)

    def write(**contents):
        for name, content in contents.items():
            if isinstance(content, dict) and all(isinstance(value, np.ndarray) for value in content.values()):
                np.savez_compressed(name + ".npz", **content)
            else:
                (tmp_path / (name + ".json")).write_text(json.dumps(content))

    write(spec=SPEC, before={"hidden/kernel": KERNEL, "hidden/bias": np.zeros(3)})
    return write


def changed(*changes):
    kernel = KERNEL.copy()
    for element, value in changes:
        kernel[element] = value
    return {"hidden/kernel": kernel}


def verify(*more):
    return cli.main(["verify", "before.npz", "after.npz", "--spec", "spec.json"] + list(more))


def test_free_elements_may_move(files, capsys):
    files(after=changed(((0, 1), 7.0)))
    assert verify() == 0
    assert capsys.readouterr().out == "0 of 3 frozen elements moved\n"


def test_a_moved_element_is_told_with_its_values(files, capsys):
    files(after=changed(((1, 2), 7.0), ((2, 2), 7.0)))
    assert verify() == 1
    assert capsys.readouterr().out.splitlines() == [
        "weight         element  before  now",
        "hidden/kernel  [1, 2]   5.0     7.0",
        "1 of 3 frozen elements moved",
    ]


def test_the_sign_of_zero_is_a_move(files, capsys):
    files(after=changed(((0, 0), -0.0)))
    assert verify() == 1
    assert "hidden/kernel  [0, 0]   0.0     -0.0" in capsys.readouterr().out


def test_nans_of_other_bits_are_told_by_their_bytes(files, capsys):
    nans = np.array([0x7FC00000, 0x7FC00001], "<u4").view("<f4")
    files(before=changed(((0, 0), nans[0]), ((1, 2), nans[0])), after=changed(((0, 0), nans[1]), ((1, 2), nans[0])))
    assert verify() == 1
    assert capsys.readouterr().out.splitlines()[1].split()[3:] == ["0000c07f", "0100c07f"]


def test_the_result_as_json(files):
    files(after=changed(((3, 1), 7.0)))
    assert verify("--json", "out.json") == 1
    with open("out.json") as file:
        result = json.load(file)
    assert (result["compared"], result["moved"]) == (3, 1)
    assert result["first"] == [
        {
            "weight": "hidden/kernel",
            "element": [3, 1],
            "before": "10.0",
            "now": "7.0",
            "before_bytes": "00002041",
            "now_bytes": "0000e040",
        }
    ]


def test_long_lists_are_cut(files, capsys):
    spec = {"freezecompat": 1, "freeze": [{"weight": "w", "elements": "all"}]}
    files(spec=spec, before={"w": np.zeros(30)}, after={"w": np.ones(30)})
    assert verify() == 1
    assert capsys.readouterr().out.splitlines()[21:] == ["and 10 more", "30 of 30 frozen elements moved"]


def test_elements_by_value_are_those_of_before(files):
    spec = {"freezecompat": 1, "freeze": [{"weight": "w", "elements": {"zeros": True}}]}
    files(spec=spec, before={"w": np.array([0.0, 1.0])}, after={"w": np.array([0.0, 0.0])})
    assert verify() == 0
    files(after={"w": np.array([1.0, 1.0])})
    assert verify() == 1


def test_names_say_what_a_weight_is_called_there(files):
    files(after={"dense/w": KERNEL}, names={"dense/w": "hidden/kernel"})
    assert verify("--names", "names.json") == 0


@pytest.mark.parametrize("elements", [[[0, 0], [3, 2]], "all"], ids=["few", "all"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_blocks_are_cut_at_the_same_places(files, monkeypatch, capsys, elements, orders):
    monkeypatch.setattr("freezecompat.model_files.of_numpy.BLOCK_BYTES", 20)
    after = changed(((3, 2), 7.0))["hidden/kernel"]
    files(
        spec={"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": elements}]},
        before={"hidden/kernel": np.asarray(KERNEL, order=orders[0])},
        after={"hidden/kernel": np.asarray(after, order=orders[1])},
    )
    lengths = {"C": [5, 5, 2], "F": [12]}
    assert [len(block) for block in open_model("before.npz").blocks("hidden/kernel")] == lengths[orders[0]]
    assert verify() == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "hidden/kernel  [3, 2]   11.0    7.0",
        "1 of {} frozen elements moved".format(12 if elements == "all" else 2),
    ]


@pytest.mark.parametrize(
    "after, text",
    [
        ({"other": KERNEL}, "after.npz has no weight 'hidden/kernel': other (4, 3). --names MAP.json says what it is"),
        ({"hidden/kernel": KERNEL.T}, "hidden/kernel: before (4, 3) float32, in after.npz (3, 4) float32"),
        ({"hidden/kernel": KERNEL.astype("f8")}, "hidden/kernel: before (4, 3) float32, in after.npz (4, 3) float64"),
        ({"hidden/kernel": np.array([None])}, "can't read after.npz: an array of object has no plain values"),
    ],
    ids=["missing", "shape", "dtype", "objects"],
)
def test_what_does_not_fit_is_one_line(files, capsys, after, text):
    files(after=after)
    assert verify() == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and text in error


@pytest.mark.parametrize(
    "name, text",
    [
        ("missing.npz", "No such file or directory"),
        ("broken.npz", "'File is not a zip file'"),
        ("model.pb", "it is no checkpoint, and its name ends in none of .npz, .npy, .h5, .hdf5, .keras"),
    ],
)
def test_a_file_that_can_not_be_read_is_one_line(files, capsys, name, text):
    with open("broken.npz", "wb") as file:
        file.write(b"PK no archive")
    assert cli.main(["list", name]) == 2
    assert capsys.readouterr().err == "freezecompat: can't read {}: {}\n".format(name, text)


def test_a_file_that_ends_early_is_one_line(files, capsys):
    np.save("w.npy", np.zeros(3))
    os.truncate("w.npy", os.path.getsize("w.npy") - 8)
    files(spec={"freezecompat": 1, "freeze": [{"weight": "w", "elements": {"zeros": True}}]})
    assert cli.main(["masks", "w.npy", "--spec", "spec.json"]) == 2
    assert capsys.readouterr().err == "freezecompat: entry 1, 'w': can't read w.npy: an array ends 8 bytes early\n"


@pytest.mark.parametrize(
    "names, text",
    [
        ({"typo": "hidden/kernel"}, "the name map says 'typo', and after.npz has no such weight: hidden/kernel (4, 3)"),
        (["no map"], "names.json is no name map: {address in AFTER: address in BEFORE}"),
    ],
    ids=["unknown", "list"],
)
def test_a_wrong_name_map_is_one_line(files, capsys, names, text):
    files(after={"hidden/kernel": KERNEL}, names=names)
    assert verify("--names", "names.json") == 2
    assert capsys.readouterr().err == "freezecompat: {}\n".format(text)


def test_a_missing_spec_is_one_line(files, capsys):
    assert cli.main(["masks", "before.npz", "--spec", "none.json"]) == 2
    assert capsys.readouterr().err == "freezecompat: can't read the spec none.json: No such file or directory\n"


def test_list_and_masks(files, capsys):
    assert cli.main(["list", "before.npz"]) == 0
    assert cli.main(["masks", "before.npz", "--spec", "spec.json"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "weight         shape   dtype",
        "hidden/kernel  (4, 3)  float32",
        "hidden/bias    (3,)    float64",
        "weight         shape   frozen  elements",
        "hidden/kernel  (4, 3)  3       12",
    ]


def test_an_npy_file_is_one_weight(files):
    np.save("kernel.npy", KERNEL)
    model = open_model("kernel.npy")
    assert [row.address for row in model.rows] == ["kernel"]
    assert np.array_equal(model.read("kernel"), KERNEL)


def test_all_moved_elements_are_counted_and_the_first_ones_kept(files, monkeypatch):
    """In order, over the ends of blocks and of weights."""
    monkeypatch.setattr("freezecompat.model_files.of_numpy.BLOCK_BYTES", 40)
    monkeypatch.setattr("freezecompat.model_files.compare.KEPT", 7)
    spec = {"freezecompat": 1, "freeze": [{"weight": "a", "elements": "1:"}, {"weight": "b", "elements": "all"}]}
    files(spec=spec, before={"a": np.zeros(7), "b": np.zeros(9)}, after={"a": np.ones(7), "b": np.ones(9)})
    assert verify("--json", "out.json") == 1
    with open("out.json") as file:
        result = json.load(file)
    assert (result["compared"], result["moved"]) == (15, 15)
    found = [(one["weight"], one["element"]) for one in result["first"]]
    assert found == [("a", [k]) for k in range(1, 7)] + [("b", [0])]
