"""Pictures of sets: which cell an element falls into, what shares a cell, and that nothing is lost."""

import tracemalloc

import numpy as np
import pytest

from freezecompat.element_set import ElementSet
from freezecompat.heat_map import MOST_CELLS, Side, heat_map


def share(shape, *elements):
    mask = np.zeros(shape, bool)
    for element in elements:
        mask[element] = True
    return heat_map(shape).share(ElementSet.from_dense(mask))


def test_a_matrix_lies_as_it_is():
    """An element is a cell, axis 0 goes down."""
    np.testing.assert_array_equal(share((3, 2), (0, 1), (2, 0)), [[0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize("shape, cells", [((), (1, 1)), ((3,), (1, 3)), ((1, 3), (1, 3)), ((3, 1), (1, 3))])
def test_strips_lie_across(shape, cells):
    """A scalar is one cell, a vector a row; so is a matrix of one column."""
    last = share(shape, tuple(length - 1 for length in shape))
    assert last.shape == cells and last[0, -1] == 1 and last.sum() == 1


def test_convolutions_are_tiles():
    """Each pair of the last two axes is a tile of the first two, with a gap of NaN to the next."""
    gap = np.nan
    np.testing.assert_array_equal(
        share((2, 3, 2, 2), (0, 2, 0, 1), (1, 0, 1, 0)),
        [
            [0, 0, 0, gap, 0, 0, 1],
            [0, 0, 0, gap, 0, 0, 0],
            [gap, gap, gap, gap, gap, gap, gap],
            [0, 0, 0, gap, 0, 0, 0],
            [1, 0, 0, gap, 0, 0, 0],
        ],
    )


def test_the_tiles_of_one_filter_lie_across():
    """A depthwise kernel is a row of tiles."""
    found = share((2, 2, 3, 1), (1, 0, 2, 0))
    assert found.shape == (2, 8) and found[1, 6] == 1 and np.nansum(found) == 1
    assert [heat_map((2, 2, 3, 1)).columns.axis, heat_map((2, 2, 3, 1)).rows.axis] == [2, 3]


def test_axes_before_the_last_three_are_stacked():
    """A tile of a kernel of rank 5 has its depth and height from top to bottom."""
    found = share((2, 3, 4, 2, 2), (1, 2, 3, 0, 0))
    assert found.shape == (2 * 6 + 1, 2 * 4 + 1) and found[5, 3] == 1


def test_too_many_tiles_are_one_cell_each():
    """The cell has the share of the tile."""
    shape = (3, 3, 64, 64)
    found = share(shape, (0, 1, 5, 6), (2, 2, 5, 6))
    assert found.shape == (64, 64) and heat_map(shape).elements_in_a_cell == 9
    assert found[5, 6] == 2 / 9 and found.sum() == 2 / 9


def test_long_sides_have_bins():
    """The share is that of the elements in the bin; the last bin may have fewer."""
    found = share((130, 2), (0, 0), (2, 0), (129, 1))
    assert found.shape == (44, 2) and heat_map((130, 2)).elements_in_a_cell == 3
    assert found[0].tolist() == [2 / 3, 0] and found[43].tolist() == [0, 1]


@pytest.mark.parametrize(
    "shape", [(), (5,), (129,), (4, 3), (300, 7), (7, 300), (3, 5, 6), (40, 5, 60), (3, 3, 64, 70), (2, 3, 2, 5, 140)]
)
def test_nothing_is_lost(shape):
    """Shares times the sizes of the cells are the elements; a full set is 1.0 in every cell; sides are bounded."""
    random = np.asarray(np.random.RandomState(0).rand(*shape) < 0.3)
    layout = heat_map(shape)
    ones = layout.share(ElementSet.full(shape))
    assert max(ones.shape) <= MOST_CELLS and set(ones[~np.isnan(ones)]) == {1.0}
    inside = layout.elements_in_a_cell // (layout.rows.bin * layout.columns.bin)
    sizes = np.outer(layout.rows.sizes(), layout.columns.sizes()) * inside
    assert sizes.sum() == random.size
    assert np.nansum(layout.share(ElementSet.from_dense(random)) * sizes) == pytest.approx(np.sum(random))


def test_one_element_of_a_million_is_in_a_cell():
    """Its share is small and not zero."""
    found = share((1000, 1000), (500, 20))
    assert np.argwhere(found > 0).tolist() == [[31, 1]] and found.max() == 1 / 256


def test_ticks_stand_at_the_middle_of_what_they_name():
    """In the middle of a cell, a tile, or the place of an index in its bin."""
    assert [each.tolist() for each in Side(3, 0).ticks()] == [[0, 1, 2], [0, 1, 2]]
    assert [each.tolist() for each in Side(2, 2, tile=3, gap=1).ticks()] == [[0, 1], [1, 5]]
    indices, places = Side(1000, 0, bin=10).ticks()
    assert indices.tolist() == [0, 200, 400, 600, 800] and places[1] == pytest.approx(19.55)


@pytest.mark.parametrize("few", [True, False], ids=["few", "all"])
def test_large_sets_take_no_memory_beside_their_own(few):
    """A mask of four million elements takes 8 MB at most, its indices would take 32 MB."""
    shape = (2000, 2000)
    elements = ElementSet.from_flat(shape, [7]) if few else ElementSet.full(shape)
    tracemalloc.start()
    heat_map(shape).share(elements)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


@pytest.mark.parametrize("size", [3, 2**16 + 3])
@pytest.mark.parametrize("every", [1, 2, 40])
def test_blocks_are_all_of_a_set(size, every):
    """One after the other they are its flat indices, whatever its form inside."""
    flat = np.arange(1, 2 * size, every)
    blocks = list(ElementSet.from_flat((2, size), flat).flat_blocks())
    np.testing.assert_array_equal(np.concatenate(blocks), flat)
    rows = ElementSet.from_axes((3, size), [[0, 2], range(0, size, every)])
    np.testing.assert_array_equal(np.concatenate(list(rows.flat_blocks())), rows.flat())
