"""Set algebra of elements and of whole specs, and elements that are set when they are frozen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezecompat import FreezeSpec, Weight, build_masks, elements
from freezecompat.exceptions import SpecTypeError, SpecValueError
from freezecompat.masks import build
from freezecompat.resolve import as_weights

WEIGHTS = {"a": np.array([[0.0, 1.0], [2.0, 3.0]], "f4"), "b": np.array([0.0, 5.0, -1.0], "f4")}


def flat(spec, weights=WEIGHTS):
    return {address: np.flatnonzero(mask).tolist() for address, mask in build_masks(spec, weights).items()}


LEAVES = st.sampled_from([elements.positions([(0, 0), (1, 1)]), elements.rows([1]), elements.zeros(), elements.all()])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=6,
)


def brute_force(element):
    """The set of flat indices that a tree means on WEIGHTS["a"]."""
    if isinstance(element, elements.AnyOf):
        return set().union(*map(brute_force, element.parts))
    if isinstance(element, elements.AllOf):
        return set.intersection(*map(brute_force, element.parts))
    if isinstance(element, elements.Not):
        return set(range(4)) - brute_force(element.part)
    return {"positions": {0, 3}, "rows": {2, 3}, "zeros": {0}, "all": {0, 1, 2, 3}}[element.expression().split("(")[0]]


@given(TREES)
def test_trees_of_elements(tree):
    """Union, intersection and complement are those of sets; text, JSON and hash go round."""
    row = as_weights(WEIGHTS)[0]
    assert set(tree.select(row).flat().tolist()) == brute_force(tree)
    assert elements.from_json(tree.to_json()) == tree
    assert eval(repr(tree), vars(elements)) == tree or repr(tree) in ("'all'", "[(0, 0), (1, 1)]")
    assert hash(elements.from_json(tree.to_json())) == hash(tree)


def test_plain_values_beside_an_operator():
    """What an entry takes may stand beside an element, on either side; a mask too."""
    mask = WEIGHTS["a"] > 2
    for element, expected in [
        (elements.zeros() | (0, 1), [0, 1]),
        ((0, 1) | elements.zeros(), [0, 1]),
        (mask | elements.zeros(), [0, 3]),
        (elements.zeros() | mask, [0, 3]),
        ("all" & ~elements.zeros(), [1, 2, 3]),
        (elements.rows([0]) & "..., 1", [1]),
    ]:
        assert flat({"a": element}) == {"a": expected}
    with pytest.raises(SpecTypeError, match="received 1"):
        elements.zeros() | 1


def test_algebra_of_specs():
    """`~` is over all trainable weights; an empty result is an error."""
    a, b = FreezeSpec({"a": (0, 1), "b": (0,)}), FreezeSpec({"a": "all"})
    assert flat(a | b) == {"a": [0, 1, 2, 3], "b": [0]}
    assert flat(a & b) == {"a": [1]}
    assert flat(~a) == {"a": [0, 2, 3], "b": [1, 2]}
    assert flat(~FreezeSpec.empty()) == {"a": [0, 1, 2, 3], "b": [0, 1, 2]}
    assert flat(~~a) == flat(a) == flat(a | FreezeSpec.empty())
    assert flat({"b": "all"} | a) == {"a": [1], "b": [0, 1, 2]} and flat([("a", "all")] & a) == {"a": [1]}
    with pytest.raises(SpecValueError, match="the spec selects no element"):
        build_masks(b & ~b, WEIGHTS)
    rows = [Weight("w", (2,)), Weight("s", (2,), trainable=False)]
    assert list(build_masks(~FreezeSpec({"s": "all"}), rows)) == ["w"]


SPECS = [
    FreezeSpec({"a": (0, 1)}) | FreezeSpec({"b": "all"}) | FreezeSpec({"a": elements.zeros()}),
    ~(FreezeSpec({"a": (0, 1)}) & ~FreezeSpec({"b": "all"})),
    FreezeSpec.empty() | FreezeSpec([("a", "all"), ("a", (0, 0))]),
    FreezeSpec({"a": elements.pin((0, 0), 1.5)}) | FreezeSpec({"b": elements.pin("all", [1.0, 2.0, float("nan")])}),
]


@pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))
@pytest.mark.parametrize("ending", [".json", ".yaml"])
def test_a_file_of_a_combination(spec, ending, tmp_path):
    """Byte-stable, equal, with the same hash and text."""
    first, second = tmp_path / ("a" + ending), tmp_path / ("b" + ending)
    spec.dump(first)
    again = FreezeSpec.load(first)
    again.dump(second)
    assert again == spec and repr(again) == repr(spec) and first.read_bytes() == second.read_bytes()
    assert hash(again) == hash(spec)
    assert again != spec | spec and again != FreezeSpec({"a": "all"})


def test_the_text_of_a_combination():
    """As one would write it."""
    assert repr(SPECS[1]) == "~(FreezeSpec({'a': (0, 1)}) & ~FreezeSpec({'b': 'all'}))"
    assert len(SPECS[0].specs) == 3 and SPECS[0].operation == "or" and SPECS[0].rules == ()
    for spec in SPECS[:3]:
        assert eval(repr(spec), dict(vars(elements), FreezeSpec=FreezeSpec)) == spec


@pytest.mark.parametrize(
    "body, text",
    [
        ('"op": "xor", "specs": []', "'op' is one of or, and, not"),
        ('"op": ["or"], "specs": []', "'op' is one of"),
        ('"op": "or", "specs": [{"freeze": []}]', "two specs or more"),
        ('"op": "not", "specs": []', "one spec"),
        ('"op": "not", "specs": 1', "one spec"),
        ('"op": "not", "specs": [1]', "a spec has the key"),
        ('"op": "not", "specs": [{"freezecompat": 1, "freeze": []}]', "'freezecompat' is unknown"),
        ('"op": "not"', "'specs' is missing"),
        ('"op": "not", "specs": [{"freeze": []}], "freeze": []', "'freeze' is unknown"),
    ],
)
def test_what_a_file_of_a_combination_may_not_say(body, text):
    with pytest.raises(SpecValueError, match=text):
        FreezeSpec.from_json('{"freezecompat": 1, %s}' % body)


@pytest.mark.parametrize("depth", [60, 2000, 20000])
@pytest.mark.parametrize(
    "start, inside, end",
    [
        ('{"not": ', '"all"', "}"),
        ("[", "1", "]"),
        ('{"any": ["all", ', '"all"', "]}"),
        ('{"pin": ', '"all"', ', "value": 0}'),
    ],
)
def test_hostile_nesting(start, inside, end, depth):
    """An error, not a crash, however deep."""
    text = start * depth + inside + end * depth
    with pytest.raises((SpecValueError, SpecTypeError)):
        FreezeSpec.from_json('{"freezecompat": 1, "freeze": [{"weight": "a", "elements": %s}]}' % text)
    nested = '{"op": "not", "specs": [' * depth + '{"freeze": []}' + "]}" * depth
    with pytest.raises(SpecValueError, match="nested"):
        FreezeSpec.from_json('{"freezecompat": 1, "op": "not", "specs": [%s]}' % nested)


def test_masks_from_elsewhere(tmp_path):
    """A mapping or an .npz file; True is frozen, or trained where it is said so; what freezes nothing is left out."""
    masks = {"a": np.array([[True, False], [False, False]]), "b": np.zeros(3, bool)}
    path = tmp_path / "masks.npz"
    np.savez(str(path), **masks)
    assert flat(FreezeSpec.from_masks(masks)) == flat(FreezeSpec.from_masks(path)) == {"a": [0]}
    assert flat(FreezeSpec.from_masks(path, true_means="trained")) == {"a": [1, 2, 3], "b": [0, 1, 2]}
    with pytest.raises(SpecTypeError, match="entry 1, 'a': a mask is a bool array"):
        FreezeSpec.from_masks({"a": np.ones(2)})
    with pytest.raises(SpecValueError, match="freeze no element"):
        FreezeSpec.from_masks({"b": masks["b"]})
    with pytest.raises(SpecValueError, match='"frozen" or "trained"'):
        FreezeSpec.from_masks(masks, true_means="kept")
    with pytest.raises(FileNotFoundError):
        FreezeSpec.from_masks(tmp_path / "none.npz")
    for name, content in (("text.npz", b"PK nothing"), ("pickle.npz", None)):
        broken = tmp_path / name
        if content is None:
            np.savez(str(broken), a=np.array([object()]))
        else:
            broken.write_bytes(content)
        with pytest.raises(SpecValueError, match="no .npz file of masks"):
            FreezeSpec.from_masks(broken)


# Pins -----------------------------------------------------------------------------------------------------------------


def pins(spec, weights=WEIGHTS):
    found = build(spec, as_weights(weights)).pins
    return {address: (p.elements.flat().tolist(), p.values.tolist()) for address, p in found.items()}


def test_a_pin_has_a_value_for_each_element():
    """A number, an array of the weight's shape, or one of the selected elements in C order; in the weight's dtype."""
    assert pins({"a": elements.pin([(1, 1), (0, 1)], 0.5)}) == {"a": ([1, 3], [0.5, 0.5])}
    assert pins({"a": elements.pin([(1, 1), (0, 1)], [7, 8])}) == {"a": ([1, 3], [7.0, 8.0])}
    assert pins({"a": elements.pin([(1, 1), (0, 1)], [[1, 2], [3, 4]])}) == {"a": ([1, 3], [2.0, 4.0])}
    assert flat({"a": elements.pin("0, :", 1)}) == {"a": [0, 1]}
    value = build({"a": elements.pin((0, 0), 0.1)}, as_weights(WEIGHTS)).pins["a"].values
    assert value.dtype == np.float32 and value[0] == np.float32(0.1)


def test_pins_of_several_entries():
    """They are joined; the same value twice is no conflict, -0.0 and 0.0 are two values."""
    spec = [("a", elements.pin((1, 1), 2)), ("a", elements.pin("1, :", 2) | elements.rows([0]))]
    assert pins(spec) == {"a": ([2, 3], [2.0, 2.0])} and flat(spec) == {"a": [0, 1, 2, 3]}
    assert pins(FreezeSpec(spec[:1]) | FreezeSpec({"a": elements.pin((0, 0), 1)})) == {"a": ([0, 3], [1.0, 2.0])}
    for other in (3, -2):
        with pytest.raises(SpecValueError, match=r"entry 2, 'a': a\[1, 1\] is pinned at 2.0 and at"):
            pins([("a", elements.pin((1, 1), 2)), ("a", elements.pin("1, :", other))])
    with pytest.raises(SpecValueError, match="is pinned at 0.0 and at -0.0"):
        pins(FreezeSpec({"a": elements.pin("all", 0.0)}) | FreezeSpec({"a": elements.pin((0, 0), -0.0)}))


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: elements.pin((0, 0), "0"), SpecTypeError, "a number or an array"),
        (lambda: elements.pin((0, 0), None), SpecTypeError, "a number or an array"),
        (lambda: elements.pin((0, 0), [[1], ["x"]]), SpecTypeError, "a number or an array"),
        (lambda: elements.pin(elements.pin("all", 0), 0), SpecTypeError, "a pin sets the values"),
        (lambda: ~elements.pin("all", 0), SpecTypeError, "inside, as in pin"),
        (lambda: elements.pin("all", 0) & elements.zeros(), SpecTypeError, "inside, as in pin"),
        (lambda: ~(elements.pin("all", 0) | elements.zeros()), SpecTypeError, "inside, as in pin"),
        (lambda: ~FreezeSpec({"a": elements.pin("all", 0)}), SpecTypeError, "entry 1, 'a': a pin"),
        (lambda: FreezeSpec({"a": elements.pin("all", 0)}) & FreezeSpec({"a": "all"}), SpecTypeError, "entry 1, 'a'"),
        (lambda: pins({"a": elements.pin("0, :", [1, 2, 3])}), SpecValueError, r"shape \(3,\); expected one number"),
        (lambda: pins({"a": elements.pin((0, 0), 1j)}), SpecTypeError, "can't hold complex"),
    ],
)
def test_pins_that_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()
