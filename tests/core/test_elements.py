"""What a spec may write as elements, what it selects, and how the rest is refused."""

import pickle

import numpy as np
import pytest

from freezecompat import elements
from freezecompat.element_set import ElementSet
from freezecompat.exceptions import ElementIndexError, SpecTypeError, SpecValueError
from freezecompat.resolve import Weight

KERNEL = Weight("kernel", (4, 3))
BIAS = Weight("bias", (3,))
SCALAR = Weight("temperature", ())
MASK = np.array([[False, True, False], [False] * 3, [False] * 3, [True, False, True]])


def flat(value, weight=KERNEL):
    return elements.parse(value).select(weight).flat().tolist()


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param((1, 2), [5], id="one-full-index"),
        pytest.param((np.int32(1), np.int64(2)), [5], id="numpy-ints"),
        pytest.param((-1, -3), [9], id="negative"),
        pytest.param([(1, 2), (3, 1)], [5, 10], id="list-of-tuples"),
        pytest.param([(3, 1), (1, 2), (-1, 1)], [5, 10], id="duplicates-count-once"),
        pytest.param(((1, 2), (3, 1)), [5, 10], id="tuple-of-tuples"),
        pytest.param([[1, 2], [3, 1]], [5, 10], id="list-of-lists"),
        pytest.param([np.array([1, 2]), (3, 1)], [5, 10], id="list-of-arrays"),
        pytest.param(np.array([[1, 2], [3, 1]]), [5, 10], id="int-array"),
        pytest.param(np.array([[1, 2]], dtype=np.uint8), [5], id="unsigned-array"),
        pytest.param(np.nonzero(MASK), [1, 9, 11], id="np.nonzero"),
        pytest.param("all", list(range(12)), id="all"),
        pytest.param("1:3, :", [3, 4, 5, 6, 7, 8], id="slice-text"),
        pytest.param("..., 0", [0, 3, 6, 9], id="ellipsis-text"),
        pytest.param(" :: 2 ,-1 ", [2, 8], id="text-with-blanks"),
        pytest.param("::-2", [3, 4, 5, 9, 10, 11], id="negative-step"),
        pytest.param("2:100", [6, 7, 8, 9, 10, 11], id="slice-bounds-are-clipped"),
        pytest.param(np.s_[1:3, :], [3, 4, 5, 6, 7, 8], id="np.s_-tuple"),
        pytest.param(np.s_[1:3], [3, 4, 5, 6, 7, 8], id="bare-slice"),
        pytest.param(np.s_[-1, ...], [9, 10, 11], id="np.s_-ellipsis"),
        pytest.param(..., list(range(12)), id="bare-ellipsis"),
        pytest.param(np.s_[np.int64(1) : 2, 0], [3], id="np.s_-numpy-ints"),
        pytest.param(MASK, [1, 9, 11], id="mask"),
        pytest.param(np.asfortranarray(MASK), [1, 9, 11], id="mask-in-fortran-order"),
        pytest.param(elements.rows([0, -1]), [0, 1, 2, 9, 10, 11], id="rows"),
        pytest.param(elements.rows(range(1)), [0, 1, 2], id="rows-of-a-range"),
        pytest.param(elements.rows(np.array([1, 1])), [3, 4, 5], id="rows-of-an-array"),
    ],
)
def test_elements_of_a_matrix(value, expected):
    """Each form selects what numpy's index of that form selects, on a weight of shape (4, 3)."""
    assert flat(value) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param([0, 2], [0, 2], id="list-of-ints"),
        pytest.param((2,), [2], id="one-tuple"),
        pytest.param(np.array([0, -1]), [0, 2], id="int-array"),
        pytest.param(np.nonzero([0, 1, 1]), [1, 2], id="np.nonzero"),
        pytest.param("1:", [1, 2], id="slice"),
        pytest.param(np.array([True, False, True]), [0, 2], id="mask"),
    ],
)
def test_elements_of_a_vector(value, expected):
    """On a weight of rank 1 a list of ints is a list of elements."""
    assert flat(value, BIAS) == expected


@pytest.mark.parametrize("value", [(), [()], "all", "...", np.s_[...], np.array(True)], ids=repr)
def test_a_scalar_has_one_element(value):
    """`()` is the index of a scalar's one element."""
    assert flat(value, SCALAR) == [0]


@pytest.mark.parametrize(
    "value, expected",
    [
        pytest.param(np.zeros((0, 2), int), [], id="no-positions"),
        pytest.param(np.nonzero(np.zeros((4, 3))), [], id="np.nonzero-of-nothing"),
        pytest.param("2:2", [], id="empty-slice"),
        pytest.param(np.zeros((4, 3), bool), [], id="empty-mask"),
    ],
)
def test_a_selection_may_be_empty(value, expected):
    """A selection that depends on something may come out empty; the entry as a whole is judged later."""
    assert flat(value) == expected


def test_elements_of_a_weight_without_elements():
    """A weight with an empty axis has no element, and asking for all of them is no error."""
    assert flat("all", Weight("empty", (0, 3))) == []
    assert flat(np.s_[:, 1], Weight("empty", (0, 3))) == []
    with pytest.raises(ElementIndexError, match="index 0 is out of range for axis 0 .*the axis is empty"):
        flat((0, 1), Weight("empty", (0, 3)))


REFUSED_AT_ONCE = [
    pytest.param(3, SpecTypeError, r"received 3 \(int\); write \(3,\) .* rows\(\[3\]\)", id="bare-int"),
    pytest.param(np.int64(3), SpecTypeError, r"received 3 \(int64\)", id="bare-numpy-int"),
    pytest.param(np.array(3), SpecTypeError, "elements are an index tuple", id="bare-0d-array"),
    pytest.param(True, SpecTypeError, r"received True \(bool\); 'all' is the whole weight", id="bare-bool"),
    pytest.param(None, SpecTypeError, r"received None \(NoneType\)", id="none"),
    pytest.param({1, 2}, SpecTypeError, r"\(set\)", id="set"),
    pytest.param({"rows": [0]}, SpecTypeError, "a dict is the form of spec files", id="dict"),
    pytest.param(
        ([0, 1], [1, 2]), SpecTypeError, "no single meaning; write a list of full indices", id="tuple-of-lists"
    ),
    pytest.param((1, [0, 2]), SpecTypeError, "no single meaning", id="int-and-list"),
    pytest.param((1, np.array([0, 2])), SpecTypeError, "an index must be an int", id="int-and-array"),
    pytest.param((1, (0, 2)), SpecTypeError, "an index must be an int", id="int-and-tuple"),
    pytest.param([(1, 2), 3], SpecTypeError, "mixes ints and full indices", id="tuple-and-int"),
    pytest.param((1.0, 2), SpecTypeError, r"an index must be an int, received 1.0 \(float\)", id="float-index"),
    pytest.param([(1, np.float32(2))], SpecTypeError, r"received 2.0 \(float32\)", id="numpy-float-index"),
    pytest.param((True, 2), SpecTypeError, r"an index must be an int, received True \(bool\)", id="bool-index"),
    pytest.param((np.bool_(True), 2), SpecTypeError, r"received True \(bool\)", id="numpy-bool-index"),
    pytest.param([True, False], SpecTypeError, r"such as np.array\(\[True, False\]\)", id="list-of-bools"),
    pytest.param([[True, False]], SpecTypeError, "for a mask pass a bool array", id="nested-list-of-bools"),
    pytest.param(["a"], SpecTypeError, r"received 'a' \(str\)", id="str-index"),
    pytest.param([slice(0, 1)], SpecTypeError, r"received slice\(0, 1, None\) \(slice\)", id="list-of-slices"),
    pytest.param([np.zeros((1, 2), int)], SpecTypeError, "one int for each axis", id="list-of-matrices"),
    pytest.param(np.array([0.0, 1.0]), SpecTypeError, "ints and a mask bools", id="float-array"),
    pytest.param(np.ones((4, 3), np.float32), SpecTypeError, "mask bools, received", id="float-mask"),
    pytest.param(np.array(["a"]), SpecTypeError, "ints and a mask bools", id="str-array"),
    pytest.param(np.array([None]), SpecTypeError, "ints and a mask bools", id="object-array"),
    pytest.param(np.zeros((2, 2, 2), int), SpecTypeError, r"shape \(elements, rank\)", id="int-array-of-rank-3"),
    pytest.param((np.array([0.5]), np.array([1])), SpecTypeError, "ints and a mask bools", id="nonzero-of-floats"),
    pytest.param((np.array([True]), np.array([True])), SpecTypeError, "ints and a mask bools", id="nonzero-of-bools"),
    pytest.param(np.ix_([0, 1], [1, 2]), SpecTypeError, "as np.nonzero gives", id="np.ix_"),
    pytest.param(
        (np.array([0, 1]), np.array([1])), SpecValueError, "different lengths", id="nonzero-of-different-lengths"
    ),
    pytest.param([], SpecValueError, "selects nothing; leave the entry out", id="empty-list"),
    pytest.param([(1, 2), (3,)], ElementIndexError, r"\(1, 2\) and \(3,\) are of different lengths", id="ragged"),
    pytest.param((2**70, 0), ElementIndexError, "out of range for a weight of any shape", id="beyond-64-bit"),
    pytest.param(np.array([[2**63, 0]], np.uint64), ElementIndexError, "out of range", id="beyond-64-bit-array"),
    pytest.param(np.s_[np.newaxis, 1:], SpecTypeError, "np.newaxis", id="newaxis-and-slice"),
    pytest.param(np.s_[np.newaxis, 1], SpecTypeError, "np.newaxis", id="newaxis"),
    pytest.param(np.s_[1.5:, 0], SpecTypeError, "an index must be an int, received 1.5", id="float-bound"),
    pytest.param(np.s_[:True], SpecTypeError, "an index must be an int, received True", id="bool-bound"),
    pytest.param(np.s_[:, True], SpecTypeError, "an index must be an int, received True", id="bool-beside-slice"),
    pytest.param(np.s_[:, [0, 2]], SpecTypeError, "stands beside a slice", id="list-beside-slice"),
    pytest.param(np.s_[:, np.array([0])], SpecTypeError, "stands beside a slice", id="array-beside-slice"),
    pytest.param(np.s_[::0], SpecValueError, "step of ::0 in '::0' is 0", id="step-0"),
    pytest.param(np.s_[..., 0, ...], SpecValueError, "more than one '...'", id="two-ellipses"),
    pytest.param("", SpecValueError, "can't read ''", id="empty-text"),
    pytest.param("ALL", SpecValueError, "can't read 'ALL' of 'ALL'; write 'all'", id="all-in-capitals"),
    pytest.param("1:3,", SpecValueError, "can't read ''", id="text-with-open-end"),
    pytest.param("1:2:3:4", SpecValueError, "can't read '1:2:3:4'", id="text-with-four-bounds"),
    pytest.param("1.5:", SpecValueError, "can't read '1.5'", id="float-in-text"),
    pytest.param("[1:3]", SpecValueError, r"can't read '\[1'", id="text-with-brackets"),
    pytest.param("None, :", SpecValueError, "can't read 'None'", id="name-in-text"),
    pytest.param("__import__('os'):", SpecValueError, "can't read", id="code-in-text"),
    pytest.param("\u0663:", SpecValueError, "can't read", id="digits-of-another-script"),
    pytest.param("1, 2", SpecValueError, "no ':' or '...', so it is no slice", id="text-without-slice"),
]


@pytest.mark.parametrize("value, error, text", REFUSED_AT_ONCE)
def test_no_elements(value, error, text):
    """What has no single meaning is refused before any weight is known."""
    with pytest.raises(error, match=text):
        elements.parse(value)


REFUSED_FOR_THE_WEIGHT = [
    pytest.param(
        (4, 0),
        KERNEL,
        ElementIndexError,
        r"^index 4 is out of range for axis 0 of a weight of shape \(4, 3\) \(valid: -4 to 3\)$",
        id="too-high",
    ),
    pytest.param(
        [(0, 0), (0, -4)],
        KERNEL,
        ElementIndexError,
        r"^index -4 is out of range for axis 1 of a weight of shape \(4, 3\) \(valid: -3 to 2\)$",
        id="too-low",
    ),
    pytest.param(np.s_[9, :], KERNEL, ElementIndexError, "index 9 is out of range for axis 0", id="int-beside-slice"),
    pytest.param("..., 3", KERNEL, ElementIndexError, "index 3 is out of range for axis 1", id="int-in-text"),
    pytest.param(elements.rows([0, 4]), KERNEL, ElementIndexError, "index 4 is out of range for axis 0", id="row"),
    pytest.param(
        (1, 2, 0),
        KERNEL,
        ElementIndexError,
        r"^\(1, 2, 0\) has 3 ints for an element, but a weight of shape \(4, 3\) needs 2$",
        id="rank",
    ),
    pytest.param(
        [0, 2],
        KERNEL,
        ElementIndexError,
        r"^\[0, 2\] has 1 int for an element, .* needs 2; write \(0, 2\) for one element$",
        id="list-of-ints",
    ),
    pytest.param(
        (0, 2),
        BIAS,
        ElementIndexError,
        r"^\(0, 2\) has 2 ints .* needs 1; write \[0, 2\] for 2 elements$",
        id="tuple-on-a-vector",
    ),
    pytest.param((), BIAS, ElementIndexError, r"^\(\) has 0 ints for an element", id="empty-tuple"),
    pytest.param((0,), SCALAR, ElementIndexError, r"shape \(\) needs 0", id="index-of-a-scalar"),
    pytest.param(
        np.s_[:, :, 0],
        KERNEL,
        ElementIndexError,
        r"the slice has 3 parts, but a weight of shape \(4, 3\) has 2 axes",
        id="slice-rank",
    ),
    pytest.param(
        elements.rows([0]),
        BIAS,
        ElementIndexError,
        r"rows need a table or a matrix, but the weight has shape \(3,\); write \[0\]",
        id="rows-of-a-vector",
    ),
    pytest.param(
        MASK.T,
        KERNEL,
        SpecValueError,
        r"the mask has shape \(3, 4\), but the weight has shape \(4, 3\)",
        id="mask-shape",
    ),
    pytest.param(MASK[:, :1], KERNEL, SpecValueError, r"the mask has shape \(4, 1\)", id="mask-that-broadcasts"),
    pytest.param(MASK.astype(int), KERNEL, SpecTypeError, r"write .astype\(bool\)", id="mask-of-ints"),
]


@pytest.mark.parametrize("value, weight, error, text", REFUSED_FOR_THE_WEIGHT)
def test_no_elements_of_this_weight(value, weight, error, text):
    """An index that the weight does not have is refused, with the shape and what is valid."""
    with pytest.raises(error, match=text):
        elements.parse(value).select(weight)


@pytest.mark.parametrize(
    "call, error, text",
    [
        pytest.param(
            lambda: elements.rows(3), SpecTypeError, r"such as rows\(\[0, 5\]\), received 3", id="rows-of-int"
        ),
        pytest.param(lambda: elements.rows([]), SpecValueError, r"rows\(\[\]\) selects nothing", id="rows-of-nothing"),
        pytest.param(lambda: elements.rows([1.0]), SpecTypeError, "an index must be an int", id="rows-of-float"),
        pytest.param(lambda: elements.rows(np.array([True])), SpecTypeError, "an index must be", id="rows-of-mask"),
        pytest.param(lambda: elements.rows([[1]]), SpecTypeError, "an index must be an int", id="rows-of-lists"),
        pytest.param(lambda: elements.rows("01"), SpecTypeError, "received '01'", id="rows-of-text"),
        pytest.param(
            lambda: elements.positions("all"), SpecTypeError, "positions are full indices", id="positions-all"
        ),
        pytest.param(
            lambda: elements.positions(MASK), SpecTypeError, "positions are full indices", id="positions-mask"
        ),
        pytest.param(lambda: elements.positions(3), SpecTypeError, "received 3", id="positions-of-int"),
        pytest.param(lambda: elements.mask([True]), SpecTypeError, "a mask is a bool array", id="mask-of-list"),
        pytest.param(lambda: elements.mask(np.ones(2)), SpecTypeError, "a mask is a bool array", id="mask-of-floats"),
        pytest.param(lambda: elements.slices((1, 2)), SpecValueError, "no ':' or '...'", id="slices-without-slice"),
    ],
)
def test_constructors_refuse(call, error, text):
    """Each constructor takes its own form only."""
    with pytest.raises(error, match=text):
        call()


def test_constructors_and_python_forms_are_the_same():
    """What a constructor builds equals what the plain form stands for."""
    assert elements.positions([(1, 2)]) == elements.parse((1, 2))
    assert elements.positions(np.array([0, 2])) == elements.parse([0, 2]) == elements.parse([(0,), (2,)])
    assert elements.all() == elements.parse("all")
    assert elements.slices("1:3,:") == elements.parse(np.s_[1:3, :])
    assert elements.mask(MASK) == elements.parse(MASK)
    assert elements.parse(elements.rows([0])) == elements.rows((0,))


def test_different_elements_are_not_equal():
    """Equality looks at the kind and at every index."""
    kinds = [elements.parse(value) for value in ((0, 1), (1, 0), [0, 1], "all", ":", MASK, ~MASK, elements.rows([0]))]
    for i, a in enumerate(kinds):
        assert [i == j for j in range(len(kinds))] == [a == b for b in kinds]
    assert elements.all() != () and elements.rows([0]) != (0,)
    assert len({hash(kind) for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    "value, text",
    [
        ((1, 2), "(1, 2)"),
        ([(1, 2), (3, 1)], "[(1, 2), (3, 1)]"),
        (np.array([0, 2]), "[0, 2]"),
        ((5,), "(5,)"),
        ((), "()"),
        ("all", "'all'"),
        (np.s_[1:3, ..., ::2], "'1:3, ..., ::2'"),
        (np.array([True, False]), "mask(np.array([True, False]))"),
        (np.zeros((10, 10), bool), "mask(<0 of 100, shape (10, 10)>)"),
        (elements.rows([0, 5]), "rows([0, 5])"),
        (elements.rows(range(100)), "rows(<100 rows>)"),
        (np.zeros((100, 2), int), "positions(<100 of rank 2>)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_repr_is_as_one_would_write_it(value, text):
    """A description prints as it would be written, or in short."""
    assert repr(elements.parse(value)) == text


def test_what_changes_later_changes_nothing():
    """Arrays and lists are copied when the description is made, and its own array can't be written."""
    array, mask, listed = np.array([[1, 2]]), MASK.copy(), [0, 1]
    made = [elements.parse(array), elements.parse(mask), elements.rows(listed)]
    before = [element.select(KERNEL).flat().tolist() for element in made]
    array[:], mask[:], listed[:] = 0, True, [3]
    assert [element.select(KERNEL).flat().tolist() for element in made] == before == [[5], [1, 9, 11], list(range(6))]
    with pytest.raises(ValueError):
        made[0].indices[:] = 0
    with pytest.raises(ValueError):
        made[1].array[:] = True
    with pytest.raises(AttributeError):
        made[0].indices = array


def test_pickle_gives_an_equal_description():
    """Descriptions survive pickle."""
    for value in ((1, 2), "all", "1:", MASK, elements.rows([0])):
        element = elements.parse(value)
        assert pickle.loads(pickle.dumps(element)) == element


@pytest.mark.parametrize(
    "value, stored",
    [
        pytest.param((1, 2), [[1, 2]], id="one-index"),
        pytest.param([(1, 2), (3, 1)], [[1, 2], [3, 1]], id="several"),
        pytest.param([0, 2], [0, 2], id="rank-1"),
        pytest.param((), [[]], id="scalar"),
        pytest.param("all", "all", id="all"),
        pytest.param(np.s_[1:3, :], "1:3, :", id="slice"),
        pytest.param(MASK, {"shape": [4, 3], "bits": "QFA="}, id="mask"),
        pytest.param(np.zeros((0, 3), bool), {"shape": [0, 3], "bits": ""}, id="mask-without-elements"),
        pytest.param(elements.rows([0, 5]), {"rows": [0, 5]}, id="rows"),
    ],
)
def test_json_form(value, stored):
    """Each description has the JSON form of the contract, and comes back from it."""
    assert elements.parse(value).to_json() == stored
    assert elements.from_json(stored) == elements.parse(value)


@pytest.mark.parametrize(
    "stored, error, text",
    [
        pytest.param(True, SpecTypeError, "received True", id="true"),
        pytest.param(None, SpecTypeError, "received None", id="null"),
        pytest.param(3, SpecTypeError, "received 3", id="int"),
        pytest.param([1.5], SpecTypeError, "received 1.5", id="float"),
        pytest.param([float("nan")], SpecTypeError, "received nan", id="nan"),
        pytest.param([[1, True]], SpecTypeError, "received True", id="true-as-index"),
        pytest.param([[[1]]], SpecTypeError, r"received \[1\] \(list\)", id="nested"),
        pytest.param([], SpecValueError, "selects nothing", id="empty"),
        pytest.param({}, SpecValueError, "known keys: 'rows', 'mask', 'bits'", id="no-key"),
        pytest.param({"row": [1]}, SpecValueError, "key 'row' are unknown; known keys: 'rows'", id="unknown-key"),
        pytest.param(
            {"rows": [1], "x": 1}, SpecValueError, "'rows' has the key 'rows'; 'x' is unknown", id="extra-key"
        ),
        pytest.param({"bits": ""}, SpecValueError, "'shape' is missing", id="bits-without-shape"),
        pytest.param({"rows": [0.0]}, SpecTypeError, "an index must be an int", id="rows-of-float"),
        pytest.param({"mask": 3}, SpecTypeError, "'mask' is a file name, received 3", id="mask-no-name"),
        pytest.param({"mask": "m.npy"}, SpecValueError, "this spec has none", id="mask-without-folder"),
        pytest.param({"shape": 4, "bits": ""}, SpecTypeError, "'shape' is a list of ints", id="shape-no-list"),
        pytest.param({"shape": [True], "bits": ""}, SpecTypeError, "'shape' is a list of ints", id="shape-of-bool"),
        pytest.param({"shape": [-1], "bits": ""}, SpecValueError, "no shape of a weight", id="negative-shape"),
        pytest.param({"shape": [0, 2**70], "bits": ""}, SpecValueError, "no shape of a weight", id="huge-shape"),
        pytest.param({"shape": [1] * 100, "bits": "gA=="}, SpecValueError, "no shape of a weight", id="huge-rank"),
        pytest.param({"shape": [10**6] * 2, "bits": "gA=="}, SpecValueError, "holds 1 byte, but", id="bits-too-few"),
        pytest.param(
            {"shape": [8], "bits": "gIA="}, SpecValueError, "holds 2 bytes, but .* needs 1", id="bits-too-many"
        ),
        pytest.param(
            {"shape": [2], "bits": "/w=="}, SpecValueError, "behind the last element", id="bits-behind-the-end"
        ),
        pytest.param({"shape": [2], "bits": "g A=="}, SpecValueError, "no base64 text", id="bits-with-blank"),
        pytest.param({"shape": [2], "bits": "\u00e4"}, SpecValueError, "no base64 text", id="bits-no-ascii"),
        pytest.param({"shape": [2], "bits": 3}, SpecTypeError, "'bits' is base64 text", id="bits-no-text"),
    ],
)
def test_json_refused(stored, error, text):
    """What a file may not hold is refused with what was expected."""
    with pytest.raises(error, match=text):
        elements.from_json(stored)


def test_a_slice_stays_a_slice_beside_the_empty_set():
    """Nothing added, nothing taken: a frozen slice takes no mask in memory, here of a trillion elements."""
    shape = (10**6, 10**6)
    rows, nothing = ElementSet.from_axes(shape, [range(5, 10**6), range(10**6)]), ElementSet.empty(shape)
    for same in (rows | nothing, nothing | rows, rows - nothing, rows ^ nothing, nothing ^ rows):
        assert same.count == rows.count == (10**6 - 5) * 10**6
    for none in (rows & nothing, nothing & rows, nothing - rows, nothing | nothing):
        assert none.count == 0
