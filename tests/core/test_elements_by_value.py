"""Elements that values or chance decide: predicates, zeros, magnitudes, random ones."""

import numpy as np
import pytest

from freezecompat import FreezeSpec, build_masks, elements
from freezecompat.elements import ranking
from freezecompat.elements.predicate import Predicate
from freezecompat.exceptions import SpecTypeError, SpecValueError

W = np.array([[-2.0, -0.0, 0.5], [0.1, 1e-4, 3.0], [np.nan, -np.inf, 0.0]], "f4")
FINITE = np.array([[-2.0, -0.0, 0.5], [0.1, 1e-4, 3.0], [-0.5, 7.0, 0.0]], "f4")


def chosen(element, array=W):
    """The mask of one weight."""
    return build_masks({"w": element}, {"w": array}).get("w", np.zeros(array.shape, bool))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("abs(w) < 1e-3", lambda w: np.abs(w) < 1e-3),
        ("w == 0.1", lambda w: w == np.float32(0.1)),
        ("0 < w <= 0.5", lambda w: (0 < w) & (w <= 0.5)),
        ("not w > 0 and w != 0", lambda w: ~(w > 0) & (w != 0)),
        ("(w < 0) | ~(w < 1)", lambda w: (w < 0) | ~(w < 1)),
        ("isnan(w) or isinf(w)", lambda w: np.isnan(w) | np.isinf(w)),
        ("isfinite(w) & (w * w + 1 >= 2 * 0.625)", lambda w: np.isfinite(w) & (w * w + 1 >= 1.25)),
        ("w ** 3 < -w / 4 - 1", lambda w: w * w * w < -w / 4 - 1),
        ("w % 2 == 1 or w // 1 == -2", lambda w: (w % 2 == 1) | (w // 1 == -2)),
        ("minimum(w, 0) == maximum(-3, sign(w))", lambda w: np.minimum(w, 0) == np.maximum(-3, np.sign(w))),
        ("sqrt(abs(w)) > ceil(0.2) or floor(w) == -2", lambda w: (np.sqrt(np.abs(w)) > 1) | (np.floor(w) == -2)),
        ("w > -1e999 and 1 / 0 > w", lambda w: (w > -np.inf) & (np.inf > w)),
    ],
)
def test_a_predicate_is_what_numpy_computes(text, expected):
    """Numbers take the weight's dtype, as in numpy."""
    with np.errstate(all="ignore"):
        wanted = expected(W)
    assert wanted.any() and not wanted.all()
    assert chosen(elements.where(text)).tolist() == wanted.tolist()
    assert FreezeSpec.from_json(FreezeSpec({"w": elements.where(text)}).to_json()) == FreezeSpec(
        {"w": elements.where(text)}
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "?", "c8"])
def test_a_predicate_of_every_dtype(dtype):
    """float16 to complex; ints and bools are computed as float64."""
    array = np.array([0, 1, 3, -4], "f8").astype(dtype)
    assert chosen(elements.where("abs(w) > 0.5"), array).tolist() == (np.abs(array * 1.0) > 0.5).tolist()


def test_a_predicate_over_several_pieces(monkeypatch):
    """The pieces of a large weight give what the whole does, in the memory order of any array."""
    monkeypatch.setattr(ranking, "_PIECE", 4)
    array = np.asfortranarray(np.arange(30.0).reshape(5, 6) - 15)
    for element in (elements.where("abs(w) < 5"), elements.smallest(9), elements.zeros(), elements.nonzero()):
        masks = {"pieces": chosen(element, array)}
        monkeypatch.setattr(ranking, "_PIECE", 1 << 20)
        assert masks["pieces"].tolist() == chosen(element, array).tolist()
        monkeypatch.setattr(ranking, "_PIECE", 4)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("__import__('os').system('true') == 0", "no arithmetic"),
        ("w.__class__ == 0", "a Attribute is no arithmetic"),
        ("w[0] > 1", "a Subscript is no arithmetic"),
        ("(lambda: w)() > 1", "no arithmetic"),
        ("[w for w in w] == w", "a ListComp is no arithmetic"),
        ("v > 1", "'v' is unknown"),
        ("w", "a Name is no comparison"),
        ("w + 1", "a BinOp is no comparison"),
        ("(w > 1) + 1 > 2", "a Compare is no arithmetic"),
        ("w > True", "no arithmetic"),
        ("w > 'a'", "no arithmetic"),
        ("w > 1j", "no arithmetic"),
        ("w in w", "compare no numbers"),
        ("w is w", "compare no numbers"),
        ("9**9**9 > w", "an exponent is an int from 1 to 16"),
        ("w ** 0.5 > 1", "an exponent is an int"),
        ("w ** w > 1", "an exponent is an int"),
        ("w ** -1 > 1", "an exponent is an int"),
        ("abs() > 1", "abs takes 1 number"),
        ("abs(w, w) > 1", "abs takes 1 number"),
        ("abs(*w) > 1", "abs takes 1 number"),
        ("minimum(w, x=1) > 1", "minimum takes 2 numbers"),
        ("exp(w) > 1", "exp() is no arithmetic"),
        ("w >", "it can't be read"),
        ("", "it can't be read"),
        ("w > 1\nw > 2", "it can't be read"),
        ("w > 1; w", "it can't be read"),
        ("(w := 1) > 0", "no predicate"),
        ("~" * 300 + "(w > 1)", "nested more than 50 deep"),
        ("-" * 300 + "w > 1", "nested more than 50 deep"),
        ("w > 1" + " " * 1000, "it has 1005 characters"),
        ("(" * 400 + "w" + ")" * 400 + " > 1", "no predicate"),
        ("w\0 > 1", "it can't be read"),
    ],
)
def test_what_is_no_predicate(text, reason):
    """Nothing but arithmetic over w is read; the error says what is wrong and what may be written."""
    with pytest.raises(SpecValueError) as caught:
        elements.where(text)
    assert reason in str(caught.value) and "abs(w) < 1e-3" in str(caught.value)


def test_complex_numbers_have_no_order():
    """Their magnitude has."""
    array = np.array([3 + 4j, 1j])
    with pytest.raises(SpecTypeError, match=r"entry 1, 'w': complex numbers have no order; compare abs\(w\)"):
        chosen(elements.where("w < 1"), array)
    assert chosen(elements.where("w * w == -1"), array).tolist() == [False, True]
    assert chosen(elements.largest(1), array).tolist() == [True, False]


def test_a_function_is_a_predicate():
    """Called once with the values, read-only; it can't be written to a file."""
    calls = []

    def negative(w):
        calls.append(w)
        assert not w.flags.writeable
        return w < 0

    assert chosen(negative).tolist() == (W < 0).tolist() and len(calls) == 1
    assert chosen(elements.where(negative)).tolist() == (W < 0).tolist()
    assert repr(elements.parse(negative)) == "where(<negative>)"
    with pytest.raises(SpecTypeError, match="entry 1, 'w': a function can't be written to a file"):
        FreezeSpec({"w": negative}).to_json()


@pytest.mark.parametrize(
    "function, error, text",
    [
        (lambda w: w, SpecTypeError, "returns a bool array of the weight's shape"),
        (lambda w: (w < 0)[0], SpecTypeError, r"shape \(3, 3\), it gave"),
        (lambda w: True, SpecTypeError, "it gave"),
        (lambda w: w.nothing, SpecValueError, "raised AttributeError"),
    ],
)
def test_a_function_that_gives_no_mask(function, error, text):
    with pytest.raises(error, match="entry 1, 'w': where.*" + text):
        chosen(function)


def test_zeros_and_nonzero():
    """-0.0 is a zero, NaN is not."""
    assert chosen(elements.zeros()).tolist() == (W == 0).tolist()
    assert chosen(elements.nonzero()).tolist() == (W != 0).tolist()
    assert chosen(~elements.zeros()).tolist() == (W != 0).tolist()


def by_sorting(array, count, largest):
    order = sorted(range(array.size), key=lambda k: (-abs(array.flat[k]) if largest else abs(array.flat[k]), k))
    mask = np.zeros(array.size, bool)
    mask[order[:count]] = True
    return mask.reshape(array.shape).tolist()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "c16"])
@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("largest", [False, True])
def test_smallest_and_largest_are_a_stable_sort(dtype, count, largest):
    """By magnitude; ties go to the lower index."""
    array = FINITE.astype(dtype)
    element = (elements.largest if largest else elements.smallest)(count)
    assert chosen(element, array).tolist() == by_sorting(array, count, largest)


@pytest.mark.parametrize("dtype, step", [("f4", 1), ("f8", 3)])
def test_ranking_of_many(dtype, step):
    """Ties over the edges of pieces."""
    array = many(step).astype(dtype)
    for count in (1, 7, 1234, 2500, array.size):
        assert chosen(elements.smallest(count), array).tolist() == by_sorting(array, count, False)
        assert chosen(elements.largest(count), array).tolist() == by_sorting(array, count, True)


def many(seed):
    random = np.random.RandomState(seed)
    return np.concatenate([random.randn(3000), np.repeat(random.randn(50), 40)]).reshape(50, -1)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_ranking_between_two_keys_of_a_sample(monkeypatch, dtype):
    """A sample of few keys is enough where it tells the truth: then no digit is looked at."""
    monkeypatch.setattr(ranking, "_FEW", 5000)
    monkeypatch.setattr(ranking, "_PIECE", 64)
    monkeypatch.setattr(ranking, "_digit_by_digit", None)
    array = np.random.RandomState(0).randn(100, 600).astype(dtype)
    for count in (1, array.size // 3, array.size - 1, array.size):
        assert chosen(elements.smallest(count), array).tolist() == by_sorting(array, count, False)


@pytest.mark.parametrize("few", [1, 40, 1000])
@pytest.mark.parametrize("array", ["ties", "many", "ascending"])
def test_ranking_where_a_sample_misleads(monkeypatch, few, array):
    """Every digit of the keys counts, whether the sample found too many keys or the wrong ones."""
    monkeypatch.setattr(ranking, "_FEW", few)
    monkeypatch.setattr(ranking, "_PIECE", 64)
    array = {"ties": many(0) * (many(1) > 0.5), "many": many(2), "ascending": np.arange(5000.0)}[array]
    for count in (1, 1234, 2500, array.size):
        assert chosen(elements.smallest(count), array).tolist() == by_sorting(array, count, False)
    monkeypatch.setattr(ranking, "_near_sampled", lambda *args: None)
    for count in (1, 1234, 2500, array.size):
        assert chosen(elements.largest(count), array).tolist() == by_sorting(array, count, True)


@pytest.mark.parametrize("fraction, count", [(0.5, 5), (0.05, 1), (0.15, 2), (0.8, 7), (1.0, 9)])
def test_a_fraction_is_rounded_half_up(fraction, count):
    """floor(f n + 0.5) of n = 9 elements, 0.05 of 10."""
    array = np.arange(10.0) if fraction in (0.05, 0.15) else np.arange(9.0)
    assert chosen(elements.smallest(fraction), array).sum() == count
    assert chosen(elements.random(fraction), array).sum() == count


@pytest.mark.parametrize("make", [elements.smallest, elements.largest, elements.random])
@pytest.mark.parametrize(
    "amount, error, text",
    [
        (0, SpecValueError, "above 0"),
        (0.0, SpecValueError, "above 0"),
        (-1, SpecValueError, "above 0"),
        (1.5, SpecValueError, "1 elements are an int"),
        (float("nan"), SpecValueError, "above 0"),
        (True, SpecTypeError, "a fraction or a number of elements"),
        ("half", SpecTypeError, "a fraction or a number of elements"),
        (10, SpecValueError, "is more than the weight has: 9 elements"),
    ],
)
def test_amounts_that_are_none(make, amount, error, text):
    with pytest.raises(error, match=text):
        chosen(make(amount), FINITE)


def test_nan_has_no_rank():
    with pytest.raises(SpecValueError, match="entry 1, 'w': .*NaN"):
        chosen(elements.smallest(0.5), W)


def test_random_depends_on_seed_and_shape_alone():
    """The very elements, whatever numpy and platform this is; about half of the pairs agree between two seeds."""
    array = np.zeros((4, 6))
    assert np.flatnonzero(chosen(elements.random(6, seed=3), array)).tolist() == RANDOM_OF_SEED_3
    assert np.flatnonzero(chosen(elements.random(0.25, seed=3), array + 1)).tolist() == RANDOM_OF_SEED_3
    big = np.zeros(100000)
    one, other = chosen(elements.random(0.5, seed=0), big), chosen(elements.random(0.5, seed=1), big)
    assert one.sum() == other.sum() == 50000 and abs((one == other).mean() - 0.5) < 0.01
    assert abs(one[:50000].mean() - 0.5) < 0.02 and abs(one[::2].mean() - 0.5) < 0.02
    assert (one.reshape(200, 500) != chosen(elements.random(0.5, seed=0), big.reshape(200, 500))).any()


RANDOM_OF_SEED_3 = [0, 4, 8, 13, 15, 18]


@pytest.mark.parametrize(
    "seed, error", [(-1, SpecValueError), (2**63, SpecValueError), (1.0, SpecTypeError), (True, SpecTypeError)]
)
def test_seeds_that_are_none(seed, error):
    with pytest.raises(error, match="seed is an int"):
        elements.random(0.5, seed=seed)


def test_values_that_are_not_known():
    """Rows without values do for all that needs none."""
    from freezecompat import Weight

    rows = [Weight("w", (3,))]
    assert build_masks({"w": elements.random(1)}, rows)["w"].sum() == 1
    for element in (elements.zeros(), elements.where("w > 0"), elements.smallest(1)):
        with pytest.raises(SpecValueError, match="depends on the values of the weight"):
            build_masks({"w": element}, rows)


@pytest.mark.parametrize(
    "element, text",
    [
        (elements.where("w > 0"), '{"where": "w > 0"}'),
        (elements.zeros(), '{"zeros": true}'),
        (elements.nonzero(), '{"nonzero": true}'),
        (elements.smallest(0.8), '{"smallest": 0.8}'),
        (elements.largest(np.int64(100)), '{"largest": 100}'),
        (elements.random(0.5), '{"random": 0.5, "seed": 0}'),
    ],
)
def test_in_a_file(element, text):
    spec = FreezeSpec({"w": element})
    assert '"elements": {}'.format(text) in spec.to_json()
    again = FreezeSpec.from_json(spec.to_json())
    assert again == spec and hash(again) == hash(spec) and again.to_json() == spec.to_json()
    assert eval(repr(element), vars(elements)) == element


@pytest.mark.parametrize(
    "text, error",
    [
        ('{"where": 1}', "'where' is text"),
        ('{"zeros": false}', "'zeros' is written with true"),
        ('{"nonzero": 1}', "'nonzero' is written with true"),
        ('{"smallest": "a"}', "a fraction or a number"),
        ('{"random": 0.5, "speed": 1}', "'speed' is unknown"),
        ('{"where": "w > 0", "zeros": true}', "is unknown"),
    ],
)
def test_what_a_file_may_not_say(text, error):
    with pytest.raises((SpecTypeError, SpecValueError), match="entry 1, 'w': .*" + error):
        FreezeSpec.from_json('{"freezecompat": 1, "freeze": [{"weight": "w", "elements": %s}]}' % text)


def test_a_predicate_object_is_reusable():
    assert Predicate("w > 0").evaluate(np.array([[1.0], [-1.0]])).tolist() == [[True], [False]]
