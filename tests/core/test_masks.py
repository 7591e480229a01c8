"""Element sets, and the way from a spec and weights to masks."""

import pickle

import numpy as np
import pytest

from freezecompat import elements
from freezecompat.exceptions import (
    AmbiguousWeight,
    ArgumentError,
    ElementIndexError,
    SpecTypeError,
    SpecValueError,
    UnknownWeight,
)
from freezecompat.element_set import ElementSet
from freezecompat.masks import build, build_masks
from freezecompat.resolve import Weight, as_weights
from freezecompat.spec import FreezeSpec

WEIGHTS = [
    Weight("hidden/kernel", (4, 3), ordinal=0, layer="hidden", role="kernel"),
    Weight("hidden/bias", (3,), ordinal=1, layer="hidden", role="bias"),
    Weight("norm/gamma", (3,), ordinal=2, layer="norm", role="gamma"),
    Weight("norm/moving_mean", (3,), trainable=False, layer="norm", role="moving_mean"),
    Weight("norm/moving_variance", (3,), trainable=False, layer="norm", role="moving_variance"),
]


def counts(spec, weights=WEIGHTS):
    return {address: chosen.count for address, chosen in build(spec, weights).sets.items()}


@pytest.mark.parametrize("dense", [False, True], ids=["indices", "dense"])
def test_both_forms_of_a_set_show_the_same(dense):
    """Whatever a set holds inside, its views agree."""
    mask = np.zeros((10, 10), bool)
    mask[3, 4] = mask[9, 9] = True
    if dense:
        mask = ~mask
    made = ElementSet.from_dense(mask)
    assert made.dense().tolist() == mask.tolist()
    assert made.flat().tolist() == np.flatnonzero(mask).tolist()
    assert made.positions().tolist() == np.argwhere(mask).tolist()
    assert (made.shape, made.size, made.count) == ((10, 10), 100, 98 if dense else 2)
    assert made.flat().dtype == np.int64 and made.dense().dtype == bool
    assert made == ElementSet.from_flat((10, 10), np.flatnonzero(mask)[::-1])


def test_few_elements_of_a_huge_weight_take_few_bytes():
    """Two rows of a table of 4e9 elements are found without an array of the table's size."""
    rows = elements.rows([-1, 0, 0]).select(Weight("table", (10**6, 4000)))
    assert rows.count == 8000
    assert rows.flat()[-1] == 4 * 10**9 - 1
    assert (rows & ElementSet.from_flat((10**6, 4000), [0, 5000])).flat().tolist() == [0]


def test_views_are_read_only():
    """Nobody can change a set through what it returns, nor through the array that it was made of."""
    mask = np.array([True, False])
    small, dense = ElementSet.from_flat((100,), [5]), ElementSet.from_dense(mask)
    mask[:] = False
    assert dense.flat().tolist() == [0]
    for view in (small.flat(), small.dense(), dense.flat(), dense.dense()):
        with pytest.raises(ValueError):
            view[:] = 1
    with pytest.raises(AttributeError):
        small.shape = (3,)


def test_scalar_and_empty_shapes():
    """A scalar has one element, a weight with an empty axis none."""
    assert ElementSet.full(()).positions().shape == (1, 0)
    assert ElementSet.full(()).dense().shape == ()
    assert not ElementSet.empty(())
    assert (~ElementSet.empty(())) == ElementSet.full(())
    assert not ElementSet.full((0, 3))
    assert ElementSet.full((0, 3)) == ElementSet.empty((0, 3)) == ~ElementSet.empty((0, 3))
    assert ElementSet.full((0, 3)).positions().shape == (0, 2)


def test_sets_compare_by_content():
    """Sets are equal when shape and elements are; they have no hash."""
    assert ElementSet.from_flat((4,), [1]) != ElementSet.from_flat((4,), [2])
    assert ElementSet.from_flat((4,), [1]) != ElementSet.from_flat((2, 2), [1])
    assert ElementSet.from_flat((4,), [1]) != "all"
    with pytest.raises(TypeError, match="unhashable"):
        hash(ElementSet.empty((4,)))
    assert repr(ElementSet.from_flat((4, 3), [5, 10])) == "ElementSet(2 of 12, shape (4, 3))"


def test_pickle_gives_an_equal_set():
    """Sets survive pickle in both forms."""
    for made in (ElementSet.from_flat((100,), [5]), ElementSet.full((4, 3))):
        assert pickle.loads(pickle.dumps(made)) == made


def test_sets_refuse():
    """Shapes must agree, and a flat index must be there."""
    with pytest.raises(ArgumentError, match=r"shape \(4,\) and \(2, 2\) can't be combined"):
        ElementSet.empty((4,)) | ElementSet.empty((2, 2))
    with pytest.raises(TypeError):
        ElementSet.empty((4,)) | {1}
    with pytest.raises(ElementIndexError, match=r"flat index 12 is out of range for a weight of shape \(4, 3\)"):
        ElementSet.from_flat((4, 3), [0, 12])
    with pytest.raises(ElementIndexError, match="flat index -1 is out of range"):
        ElementSet.from_flat((4, 3), [-1])


def test_build_masks_of_problem_2():
    """kernel[1, 2] and kernel[3, 1] of a (4, 3) kernel: a bool array of exactly the shape, True = frozen."""
    masks = build_masks(
        {"hidden/kernel": [(1, 2), (3, 1)]}, {"hidden/kernel": np.zeros((4, 3)), "hidden/bias": np.zeros(3)}
    )
    assert list(masks) == ["hidden/kernel"]
    assert masks["hidden/kernel"].dtype == bool
    assert masks["hidden/kernel"].tolist() == [[False] * 3, [False, False, True], [False] * 3, [False, True, False]]


def test_masks_are_the_callers_own():
    """A mask that is written to changes neither the spec nor the next mask."""
    spec = FreezeSpec({"kernel": np.array([True, False])})
    build_masks(spec, {"kernel": np.zeros(2)})["kernel"][:] = False
    assert build_masks(spec, {"kernel": np.zeros(2)})["kernel"].tolist() == [True, False]


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param(
            {"hidden/bias": "all", "hidden/kernel": (0, 0)}, {"hidden/kernel": 1, "hidden/bias": 3}, id="order"
        ),
        pytest.param([("#0", [(0, 0), (2, 2)]), ("hidden/kernel", [(0, 0), (1, 1)])], {"hidden/kernel": 3}, id="union"),
        pytest.param({"*": "all"}, {"hidden/kernel": 12, "hidden/bias": 3, "norm/gamma": 3}, id="glob-trainable-only"),
        pytest.param({"norm/*": [0]}, {"norm/gamma": 1}, id="glob-of-elements-trainable-only"),
        pytest.param({"norm": "all"}, {"norm/gamma": 3}, id="layer-trainable-only"),
        pytest.param({"hidden": elements.all()}, {"hidden/kernel": 12, "hidden/bias": 3}, id="layer"),
        pytest.param({"norm/moving_mean": "all"}, {"norm/moving_mean": 3}, id="not-trainable-by-address"),
        pytest.param(FreezeSpec.empty(), {}, id="empty-spec"),
    ],
)
def test_which_weights(spec, expected):
    """Weights come in weight order; a pattern or layer names trainable ones, an address any."""
    assert counts(spec) == expected
    assert list(build(spec, WEIGHTS).sets) == list(expected)


def test_one_weight_of_a_glob_may_be_empty():
    """A glob entry must select something somewhere, not everywhere."""
    weights = as_weights({"a/bias": np.zeros(1), "b/bias": np.zeros(3)})
    assert counts({"*/bias": "1:"}, weights) == {"b/bias": 2}


def test_not_trainable_by_variable_object():
    """A weight that is not trainable may be named by its object."""
    variable = object()
    weights = [Weight("moving_mean", (3,), trainable=False, handles=(variable,))]
    assert counts([(variable, [0])], weights) == {"moving_mean": 1}


@pytest.mark.parametrize(
    "spec, error, text",
    [
        pytest.param(
            [("#1", [0]), ("hidden/kernel", (9, 0))],
            ElementIndexError,
            "entry 2, 'hidden/kernel': index 9 is out of range for axis 0 of a weight of shape (4, 3) (valid: -4 to 3)",
            id="out-of-range",
        ),
        pytest.param(
            {"kernel": (9, 0)},
            ElementIndexError,
            "entry 1, 'kernel': hidden/kernel: index 9 is out of range for axis 0 of a weight of shape (4, 3) "
            "(valid: -4 to 3)",
            id="the-weight-is-named-too",
        ),
        pytest.param(
            {"hidden/*": np.ones((4, 3), bool)},
            SpecValueError,
            "entry 1, 'hidden/*': hidden/bias: the mask has shape (4, 3), but the weight has shape (3,); a mask has "
            "exactly the weight's shape",
            id="mask-shape-under-a-glob",
        ),
        pytest.param(
            {"hidden/kernel": [0, 2]},
            ElementIndexError,
            "entry 1, 'hidden/kernel': [0, 2] has 1 int for an element, but a weight of shape (4, 3) needs 2; write "
            "(0, 2) for one element",
            id="rank",
        ),
        pytest.param(
            {"hiden/kernel": "all"},
            UnknownWeight,
            "entry 1, 'hiden/kernel': no weight is called 'hiden/kernel'. Weights: hidden/kernel (4, 3), hidden/bias "
            "(3,), norm/gamma (3,), norm/moving_mean (3,), norm/moving_variance (3,). Did you mean 'hidden/kernel'?",
            id="unknown",
        ),
        pytest.param(
            {"norm/moving_*": "all"},
            UnknownWeight,
            "entry 1, 'norm/moving_*': only weights that are not trainable fit: norm/moving_mean (3,), "
            "norm/moving_variance (3,); write the exact address of each to freeze it",
            id="glob-of-not-trainable",
        ),
        pytest.param(
            {"hidden": (1, 2)},
            AmbiguousWeight,
            "entry 1, 'hidden': this is a layer, and (1, 2) selects elements of one weight; write the address of one "
            "of its weights: hidden/kernel (4, 3), hidden/bias (3,)",
            id="elements-of-a-layer",
        ),
        pytest.param(
            {"hidden/kernel": "2:2"},
            SpecValueError,
            "entry 1, 'hidden/kernel': '2:2' selects no element of hidden/kernel (4, 3)",
            id="nothing",
        ),
        pytest.param(
            {"*/bias": np.zeros(3, bool)},
            SpecValueError,
            "entry 1, '*/bias': mask(np.array([False, False, False])) selects no element of hidden/bias (3,)",
            id="nothing-under-a-glob",
        ),
        pytest.param(
            {3: "all"},
            UnknownWeight,
            "entry 1, 3: 3 is not a variable of this target: an address is a string, or one of the target's own "
            "variable objects (write '#3' for a position). Weights: hidden/kernel (4, 3), hidden/bias (3,), norm/gamma "
            "(3,), norm/moving_mean (3,), norm/moving_variance (3,).",
            id="int-address",
        ),
        pytest.param(
            {"hidden/kernel": (1.5, 0)},
            SpecTypeError,
            "entry 1, 'hidden/kernel': an index must be an int, received 1.5 (float)",
            id="float",
        ),
    ],
)
def test_errors_name_the_entry(spec, error, text):
    """An error names the entry once, what was expected, what was given, and a hint; its class is the fact's."""
    with pytest.raises(error) as caught:
        build_masks(spec, WEIGHTS)
    assert str(caught.value) == text
    assert type(caught.value) is error


def test_empty_specs_are_errors():
    """An empty mapping is an error, the empty spec is none."""
    with pytest.raises(SpecValueError, match=r"the spec is empty; FreezeSpec.empty\(\)"):
        build_masks({}, WEIGHTS)
    assert build_masks(FreezeSpec.empty(), WEIGHTS) == {}


def test_all_of_a_weight_without_elements_selects_nothing():
    """A weight with an empty axis can't be frozen by its own address."""
    with pytest.raises(SpecValueError, match=r"entry 1, 'empty': 'all' selects no element of empty \(0, 3\)"):
        build_masks({"empty": "all"}, {"empty": np.zeros((0, 3))})
