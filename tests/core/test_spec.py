"""The spec as an object and as a file."""

import os
import time

import numpy as np
import pytest

from freezecompat import elements
from freezecompat.exceptions import ElementIndexError, FreezeCompatError, SpecTypeError, SpecValueError
from freezecompat.masks import build_masks
from freezecompat.spec import FreezeSpec, Rule

MASK = np.array([[True, False], [False, True]])
PAIRS = [
    ("hidden/kernel", [(1, 2), (3, 1)]),
    ("*/bias", "all"),
    ("out/kernel", np.s_[1:3, :]),
    ("scale", ()),
    ("table", elements.rows([0, -1])),
    ("square", MASK),
    ("hidden/kernel", (0, 0)),
]
TEXT = """{
  "freezecompat": 1,
  "freeze": [
    {"weight": "hidden/kernel", "elements": [[1, 2], [3, 1]]},
    {"weight": "*/bias", "elements": "all"},
    {"weight": "out/kernel", "elements": "1:3, :"},
    {"weight": "scale", "elements": [[]]},
    {"weight": "table", "elements": {"rows": [0, -1]}},
    {"weight": "square", "elements": {"shape": [2, 2], "bits": "kA=="}},
    {"weight": "hidden/kernel", "elements": [[0, 0]]}
  ]
}
"""


class Variable(object):
    """Like a TF variable: can't be compared or hashed."""

    __hash__ = None
    name = "dense/kernel:0"
    shape = (4, 3)

    def __eq__(self, other):
        raise AssertionError("variables are never compared with ==")


def file_of(*entries):
    return '{"freezecompat": 1, "freeze": [' + ", ".join(entries) + "]}"


def test_mapping_pairs_and_spec_are_the_same():
    """A mapping, its pairs and a spec of them give equal specs with equal rules."""
    mapping = {"hidden/kernel": (1, 2), "bias": "all"}
    spec = FreezeSpec(mapping)
    assert spec == FreezeSpec(list(mapping.items())) == FreezeSpec(mapping.items()) == FreezeSpec(spec)
    assert spec == FreezeSpec([["hidden/kernel", (1, 2)], Rule("bias", elements.all())])
    assert hash(spec) == hash(FreezeSpec(spec))
    assert spec.rules == (Rule("hidden/kernel", elements.parse((1, 2))), Rule("bias", elements.all()))


def test_specs_differ():
    """Another order, address, element or number of entries is another spec."""
    spec = FreezeSpec([("a", (0,)), ("b", (0,))])
    for other in ([("b", (0,)), ("a", (0,))], [("a", (0,)), ("c", (0,))], [("a", (0,)), ("b", (1,))], [("a", (0,))]):
        assert spec != FreezeSpec(other)
    assert spec != {"a": (0,), "b": (0,)}


def test_spec_is_immutable():
    """A spec can't be given other rules."""
    with pytest.raises(AttributeError):
        FreezeSpec.empty().rules = ()
    with pytest.raises(AttributeError):
        FreezeSpec.empty().other = ()


def test_repr_is_as_one_would_write_it():
    """A spec prints as it would be written; a repeated address as pairs, a variable by its name."""
    assert repr(FreezeSpec({"a": (1, 2), "b": "all"})) == "FreezeSpec({'a': (1, 2), 'b': 'all'})"
    assert repr(FreezeSpec([("a", [0]), ("a", "1:")])) == "FreezeSpec([('a', (0,)), ('a', '1:')])"
    assert repr(FreezeSpec([(Variable(), "all")])) == "FreezeSpec({<variable 'dense/kernel:0'>: 'all'})"
    assert repr(FreezeSpec.empty()) == "FreezeSpec.empty()"


def test_variable_objects_are_compared_by_identity():
    """The same object is the same address, an equal one is not."""
    variable = Variable()
    assert FreezeSpec([(variable, "all")]) == FreezeSpec([(variable, "all")])
    assert FreezeSpec([(variable, "all")]) != FreezeSpec([(Variable(), "all")])
    assert FreezeSpec([(variable, "all")]) != FreezeSpec([("dense/kernel:0", "all")])
    with pytest.raises(TypeError, match="has no hash"):
        hash(FreezeSpec([(variable, "all")]))


@pytest.mark.parametrize(
    "entries, error, text",
    [
        pytest.param({}, SpecValueError, r"the spec is empty; FreezeSpec.empty\(\)", id="empty-mapping"),
        pytest.param([], SpecValueError, r"the spec is empty; FreezeSpec.empty\(\)", id="empty-list"),
        pytest.param("spec.json", SpecTypeError, r"received 'spec.json'; a file is read by FreezeSpec.load", id="path"),
        pytest.param("", SpecTypeError, r"a spec is {address: elements}", id="empty-text"),
        pytest.param(None, SpecTypeError, "received None", id="none"),
        pytest.param(3, SpecTypeError, "received 3", id="int"),
        pytest.param(
            ("kernel", "all"), SpecTypeError, "entry 1 is no pair .* received 'kernel'", id="one-pair-unwrapped"
        ),
        pytest.param(["ab"], SpecTypeError, "entry 1 is no pair", id="text-of-two-letters"),
        pytest.param([("a", "all"), ("b",)], SpecTypeError, r"entry 2 is no pair .* received \('b',\)", id="no-pair"),
        pytest.param(
            [("a", [0]), ("b", 1)], SpecTypeError, "^entry 2, 'b': elements are an index tuple", id="bare-int"
        ),
        pytest.param({"a": []}, SpecValueError, "^entry 1, 'a': an empty list selects nothing", id="nothing"),
        pytest.param({"a": [(1,), (1, 2)]}, ElementIndexError, "^entry 1, 'a': .* different lengths", id="ragged"),
        pytest.param([(Variable(), 1.5)], SpecTypeError, "^entry 1, variable 'dense/kernel:0': ", id="variable"),
    ],
)
def test_no_spec(entries, error, text):
    """What is no spec is refused, and the entry named."""
    with pytest.raises(error, match=text):
        FreezeSpec(entries)


def test_file_format_is_fixed():
    """The file is byte for byte this one, and reads back as the same spec."""
    spec = FreezeSpec(PAIRS)
    assert spec.to_json() == TEXT
    assert FreezeSpec.from_json(TEXT) == spec
    assert FreezeSpec.from_json(TEXT).to_json() == TEXT


def test_dump_and_load(tmp_path):
    """A dumped spec loads back equal, over a file that was there, and leaves nothing else."""
    path = tmp_path / "spec.json"
    path.write_text("old")
    FreezeSpec(PAIRS).dump(path)
    assert path.read_bytes() == TEXT.encode("ascii")
    assert FreezeSpec.load(str(path)) == FreezeSpec.load(path) == FreezeSpec(PAIRS)
    assert os.listdir(str(tmp_path)) == ["spec.json"]


def test_dump_follows_a_link(tmp_path):
    """A link stays a link; the file that it points to is replaced."""
    os.symlink(str(tmp_path / "real.json"), str(tmp_path / "link.json"))
    FreezeSpec.empty().dump(tmp_path / "link.json")
    assert os.path.islink(str(tmp_path / "link.json"))
    assert FreezeSpec.load(tmp_path / "real.json") == FreezeSpec.empty()


def test_empty_spec_dumps_and_loads(tmp_path):
    """The empty spec writes an empty list and comes back."""
    FreezeSpec.empty().dump(tmp_path / "spec.json")
    assert (tmp_path / "spec.json").read_text() == '{\n  "freezecompat": 1,\n  "freeze": []\n}\n'
    assert FreezeSpec.load(tmp_path / "spec.json") == FreezeSpec.empty()


def test_variable_refuses_dump_and_leaves_the_file(tmp_path):
    """A variable object can't be written; what was there stays, and no other file is left."""
    path = tmp_path / "spec.json"
    path.write_text("old")
    with pytest.raises(SpecTypeError, match="entry 2, variable 'dense/kernel:0': a variable object can't be written"):
        FreezeSpec([("a", "all"), (Variable(), "all")]).dump(path)
    assert path.read_text() == "old"
    assert os.listdir(str(tmp_path)) == ["spec.json"]


def test_failed_replace_leaves_nothing(tmp_path, monkeypatch):
    """When the last step fails the old file stays, and the temporary one goes."""
    path = tmp_path / "spec.json"
    path.write_text("old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        FreezeSpec.empty().dump(path)
    assert path.read_text() == "old"
    assert os.listdir(str(tmp_path)) == ["spec.json"]


def test_missing_file(tmp_path):
    """A file that is not there is Python's own error."""
    with pytest.raises(FileNotFoundError):
        FreezeSpec.load(tmp_path / "none.json")


def test_mask_file_is_beside_the_spec(tmp_path, monkeypatch):
    """A mask file is found in the spec's folder, wherever the process stands."""
    (tmp_path / "specs").mkdir()
    np.save(str(tmp_path / "specs" / "mask.npy"), MASK)
    (tmp_path / "specs" / "spec.json").write_text(file_of('{"weight": "a", "elements": {"mask": "mask.npy"}}'))
    monkeypatch.chdir(tmp_path)
    assert FreezeSpec.load("specs/spec.json") == FreezeSpec({"a": MASK})


def test_file_with_byte_order_mark(tmp_path):
    """A file as a Windows editor saves it loads."""
    (tmp_path / "spec.json").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert FreezeSpec.load(tmp_path / "spec.json") == FreezeSpec(PAIRS)


GOOD = '{"weight": "a", "elements": "all"}'


@pytest.mark.parametrize(
    "text, error, message",
    [
        pytest.param(
            '{"freezecompat": 1,\n "freeze": [}', SpecValueError, "not JSON: .* at line 2, column 13", id="broken"
        ),
        pytest.param("", SpecValueError, "not JSON: .* at line 1, column 1", id="empty"),
        pytest.param(
            "[]", SpecValueError, r"a spec file has the keys 'freezecompat' and 'freeze', received \[\]", id="list"
        ),
        pytest.param("{}", SpecValueError, "a spec file has .*'freezecompat' is missing", id="no-keys"),
        pytest.param('{"freezecompat": 1}', SpecValueError, "'freeze' is missing", id="no-freeze"),
        pytest.param(
            '{"freezecompat": 2, "freeze": [], "new": 1}', SpecValueError, "has version 2, .* version 1", id="v2"
        ),
        pytest.param('{"freezecompat": true, "freeze": []}', SpecValueError, "has version True", id="version-true"),
        pytest.param('{"freezecompat": 1.0, "freeze": []}', SpecValueError, "has version 1.0", id="version-float"),
        pytest.param('{"freezecompat": 1, "freeze": [], "x": 1}', SpecValueError, "'x' is unknown", id="unknown-key"),
        pytest.param(
            '{"freezecompat": 1, "freeze": {}}', SpecValueError, "'freeze' is a list of entries", id="no-list"
        ),
        pytest.param(
            '{"freezecompat": 1, "freeze": [], "freeze": []}', SpecValueError, "'freeze' appears twice", id="twice"
        ),
        pytest.param(
            file_of(GOOD, "3"), SpecValueError, "^entry 2: an entry has the keys .* received 3", id="entry-int"
        ),
        pytest.param(
            file_of('{"weight": "a"}'), SpecValueError, "^entry 1, 'a': .* 'elements' is missing", id="missing"
        ),
        pytest.param(
            file_of(GOOD, '{"weight": "b", "elements": "all", "element": 1}'),
            SpecValueError,
            "^entry 2, 'b': .*'element' is unknown",
            id="unknown-key-of-entry",
        ),
        pytest.param(
            file_of(GOOD, '{"weight": "b", "weight": "c", "elements": "all"}'),
            SpecValueError,
            "^entry 2, 'c': the key 'weight' appears twice",
            id="twice-in-entry",
        ),
        pytest.param(
            file_of('{"weight": "b", "elements": {"rows": [1], "rows": [2]}}'),
            SpecValueError,
            "^entry 1, 'b': the key 'rows' appears twice",
            id="twice-in-elements",
        ),
        pytest.param(
            file_of('{"weight": 3, "elements": "all"}'), SpecTypeError, "^entry 1, 3: 'weight' is an ad", id="int"
        ),
        pytest.param(
            file_of('{"weight": "b", "elements": [[1, true]]}'),
            SpecTypeError,
            "^entry 1, 'b': an index must",
            id="true",
        ),
        pytest.param(
            file_of('{"weight": "b", "elements": [NaN]}'), SpecTypeError, "^entry 1, 'b': .* received nan", id="nan"
        ),
        pytest.param(
            file_of('{"weight": "b", "elements": {"mask": "../m.npy"}}'),
            SpecValueError,
            "^entry 1, 'b': the mask file '../m.npy' leaves the folder",
            id="mask-outside",
        ),
    ],
)
def test_bad_file(tmp_path, text, error, message):
    """A bad file is refused with its name, the entry, and what was expected."""
    with pytest.raises(error, match=message):
        FreezeSpec.from_json(text, folder=str(tmp_path))
    path = tmp_path / "spec.json"
    path.write_text(text)
    with pytest.raises(error) as caught:
        FreezeSpec.load(path)
    assert str(caught.value).startswith(str(path) + ": ")


def test_file_that_is_no_text(tmp_path):
    """A binary file is refused with its name."""
    (tmp_path / "spec.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecValueError, match="spec.json: this is not UTF-8 text"):
        FreezeSpec.load(tmp_path / "spec.json")


def test_json_text_must_be_text():
    """Bytes are no text."""
    with pytest.raises(SpecTypeError, match="expected JSON text, received b'{}'"):
        FreezeSpec.from_json(b"{}")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


DEEP = "[" * 10000 + "]" * 10000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(DEEP, id="nested-text"),
        pytest.param(file_of('{"weight": "a", "elements": ' + DEEP + "}"), id="nested-elements"),
        pytest.param(
            file_of('{"weight": "a", "elements": ' + '{"rows":' * 10000 + "1" + "}" * 10001), id="nested-objects"
        ),
        pytest.param("[" * 10**6, id="open-brackets"),
        pytest.param(file_of('{"weight": "a", "elements": [' + "9" * 10**7 + "]}"), id="long-number"),
        pytest.param(file_of('{"weight": "a", "elements": [0.' + "9" * 10**7 + "]}"), id="long-float"),
        pytest.param(file_of('{"weight": "a", "elements": "' + "1:" * 5 * 10**6 + '"}'), id="long-slice"),
        pytest.param(file_of('{"weight": "a", "elements": "' + ":," * 5 * 10**6 + '"}'), id="many-parts"),
        pytest.param(file_of('{"weight": "a", "elements": {"' + "x" * 10**7 + '": 1}}'), id="long-key"),
        pytest.param(
            file_of('{"weight": "a", "elements": {"shape": [4], "bits": "' + "A" * 10**7 + '"}}'), id="long-bits"
        ),
        pytest.param('{"freezecompat": "' + "x" * 10**7 + '", "freeze": []}', id="long-version"),
    ],
)
def test_hostile_file(text):
    """Whatever a file holds, it ends in a short error of ours, soon."""
    start = time.time()
    with pytest.raises(FreezeCompatError) as caught:
        FreezeSpec.from_json(text)
    assert time.time() - start < 2.0  # a second is the aim; a loaded machine gets some more
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(nested(10000), id="nested-list"),
        pytest.param((nested(10000), 1), id="nested-in-tuple"),
        pytest.param("x" * 10**7, id="long-text"),
        pytest.param([10**100000], id="huge-int"),
        pytest.param(slice(10**100000), id="huge-bound"),
    ],
)
def test_hostile_elements(value):
    """Whatever is passed as elements, it ends in a short error of ours."""
    with pytest.raises(FreezeCompatError) as caught:
        FreezeSpec({"a": value})
    assert len(str(caught.value)) < 1000


def test_huge_integers_are_described():
    """An int that Python refuses to print is described by its length."""
    with pytest.raises(ElementIndexError, match="index <integer of 332193 bits> is out of range"):
        FreezeSpec({"a": (10**100000, 0)})


def test_loaded_spec_gives_the_same_masks():
    """A spec that went through a file gives the very masks of the one that did not."""
    weights = {
        "hidden/kernel": np.zeros((4, 3)),
        "hidden/bias": np.zeros(3),
        "out/kernel": np.zeros((3, 1)),
        "scale": np.float32(1),
        "table": np.zeros((5, 2)),
        "square": np.zeros((2, 2)),
    }
    masks, loaded = build_masks(PAIRS, weights), build_masks(FreezeSpec.from_json(TEXT), weights)
    assert list(masks) == list(loaded) == list(weights)
    for address in masks:
        assert masks[address].tolist() == loaded[address].tolist()
        assert masks[address].any()
