"""Element sets and index forms against a set of tuples and numpy's own indexing, on arbitrary small weights."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freezecompat import elements
from freezecompat.element_set import ElementSet
from freezecompat.resolve import Weight

SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
FILLED = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


def everything(shape):
    return set(itertools.product(*(range(length) for length in shape)))


def as_tuples(made):
    return {tuple(position) for position in made.positions().tolist()}


@st.composite
def two_sets(draw):
    """A shape, and two plain sets of indices of it."""
    shape = draw(SHAPES)
    full = sorted(everything(shape))
    pick = st.sets(st.sampled_from(full)) if full else st.just(set())
    return shape, draw(pick), draw(pick)


def made_of(shape, plain):
    mask = np.zeros(shape, bool)
    for index in plain:
        mask[index] = True
    return ElementSet.from_dense(mask)


@given(two_sets())
def test_set_algebra(drawn):
    """Union, intersection, difference and complement are those of plain sets, whatever the form inside."""
    shape, a, b = drawn
    x, y = made_of(shape, a), made_of(shape, b)
    assert as_tuples(x | y) == a | b
    assert as_tuples(x & y) == a & b
    assert as_tuples(x - y) == a - b
    assert as_tuples(x ^ y) == a ^ b
    assert as_tuples(~x) == everything(shape) - a
    assert (x == y) == (a == b)
    assert (x.count, bool(x)) == (len(a), bool(a))
    assert x == ElementSet.from_flat(shape, x.flat()) == ElementSet.from_dense(x.dense())
    assert x.contains(np.arange(x.size)).tolist() == x.dense().reshape(-1).tolist()
    full = ElementSet.full(shape)
    assert full == ElementSet.from_dense(np.ones(shape, bool)) and full.contains(np.arange(x.size)).all()


@st.composite
def two_forms(draw):
    """Two sets of one shape, each made of indices along its axes, of flat indices or of a mask, and as plain sets."""
    shape = draw(FILLED)

    def axis(length):
        few = st.lists(st.integers(0, length - 1), max_size=4)
        return draw(few | st.builds(range, st.integers(0, length), st.integers(0, length), st.sampled_from([1, 2])))

    made = []
    for form in draw(st.tuples(*[st.sampled_from(["axes", "flat", "dense"])] * 2)):
        one = ElementSet.from_axes(shape, [axis(length) for length in shape])
        if form == "flat":
            one = ElementSet.from_flat(shape, one.flat())
        made.append(ElementSet.from_dense(one.dense()) if form == "dense" else one)
    return made, [as_tuples(one) for one in made]


@given(two_forms())
def test_forms(drawn):
    """A set is the same whatever it was made of, compact or not, and so are unions of any of them."""
    (x, y), (a, b) = drawn
    for one, plain in ((x, a), (y, b), (x.compact(), a), (y.compact(), b)):
        mask = made_of(x.shape, plain)
        assert one == mask and one.count == len(plain) and (one.dense() == mask.dense()).all()
        assert one.contains(np.arange(x.size)).tolist() == mask.dense().reshape(-1).tolist()
        assert as_tuples(~one) == everything(x.shape) - plain
    assert as_tuples(x | y) == as_tuples(ElementSet.union(x.shape, iter([x, y]))) == a | b
    assert as_tuples(x & y) == a & b and as_tuples(x - y) == a - b
    own = x.new_dense()
    own[...] = True
    assert as_tuples(x) == a and as_tuples(y) == b


@st.composite
def shape_and_index(draw):
    """A shape, and an index with at least one slice or Ellipsis of at most its rank."""
    shape = draw(FILLED)
    bound = st.none() | st.integers(-7, 7)
    step = st.none() | st.integers(-3, 3).filter(bool)
    parts = [draw(st.builds(slice, bound, bound, step) | st.integers(-length, length - 1)) for length in shape][
        : draw(st.integers(1, len(shape)))
    ]
    if all(isinstance(part, int) for part in parts):
        return shape, tuple(parts) + (Ellipsis,)
    return shape, tuple(parts)


@settings(max_examples=200)
@given(shape_and_index())
def test_slices_are_numpys(drawn):
    """A slice selects what numpy selects, through its text too."""
    shape, index = drawn
    expected = np.zeros(shape, bool)
    expected[index] = True
    element = elements.parse(index)
    chosen = element.select(Weight("w", shape))
    assert chosen.count == expected.sum()
    assert chosen.contains(np.arange(expected.size)).tolist() == expected.reshape(-1).tolist()  # before it has a mask
    assert chosen.dense().tolist() == expected.tolist()
    assert elements.from_json(element.to_json()) == element


@st.composite
def shape_and_positions(draw):
    """A shape and a few full indices, negative ones too."""
    shape = draw(FILLED)
    one = st.tuples(*(st.integers(-length, length - 1) for length in shape))
    return shape, draw(st.lists(one, min_size=1, max_size=6))


@given(shape_and_positions())
def test_positions_are_numpys(drawn):
    """Full indices select what numpy selects one by one, as list, array, nonzero tuple and JSON."""
    shape, positions = drawn
    expected = np.zeros(shape, bool)
    for position in positions:
        expected[position] = True
    forms = [positions, tuple(positions), np.array(positions), tuple(np.array(positions).T)]
    for element in [elements.parse(form) for form in forms] + [elements.from_json([list(p) for p in positions])]:
        assert element.select(Weight("w", shape)).dense().tolist() == expected.tolist()
        assert elements.from_json(element.to_json()) == element


@given(FILLED.flatmap(lambda shape: st.tuples(st.just(shape), st.lists(st.booleans(), min_size=125, max_size=125))))
def test_masks_round_trip(drawn):
    """A mask selects itself and comes back from its bits."""
    shape, bools = drawn
    mask = np.array(bools[: int(np.prod(shape))]).reshape(shape)
    element = elements.parse(mask)
    assert element.select(Weight("w", shape)).dense().tolist() == mask.tolist()
    assert elements.from_json(element.to_json()) == element
