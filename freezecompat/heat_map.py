"""A set of elements as a picture that a person can read: few cells, each with the share of its elements that are in the set.

A matrix lies as it is, its axis 0 from top to bottom. Of a weight with more axes each pair of indices of the last two, a filter
and a channel, is a tile, with a gap to the next one, and the elements of the axes before lie inside it; where that is too much for a
picture, a tile is one cell. A side that is still too long has bins. Plain numpy; the memory does not depend on the number
of elements.
"""

from typing import NamedTuple, Sequence, Tuple

import numpy as np

from .element_set import ElementSet

#: How many cells a side may have before its indices share cells, and how many it has at most then: a bin must be seen alone.
MOST_CELLS = 128
MOST_BINS = 64

_MOST_TICKS = 8


class Side(NamedTuple):
    """One side of a picture, along which one axis of the weight lies.

    Attributes:
        length: of the axis.
        axis: which one; negative where the weight has none to lie there, and the length is 1.
        tile: how many cells a tile has along this side; 1 where there are no tiles.
        gap: how many cells are left free between two tiles.
        bin: how many indices of the axis share a cell.
    """

    length: int
    axis: int
    tile: int = 1
    gap: int = 0
    bin: int = 1

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return -(-self.length // self.bin) * (self.tile + self.gap) - self.gap

    def sizes(self) -> np.ndarray:
        """How many indices share each cell: int array (cells,), 0 in a gap.

        Example:
            >>> Side(5, 0, bin=2).sizes().tolist(), Side(2, 3, tile=2, gap=1).sizes().tolist()
            ([2, 2, 1], [1, 1, 0, 1, 1])
        """
        shared = np.minimum(self.bin, self.length - np.arange(0, self.length, self.bin))
        tiles = np.zeros((len(shared), self.tile + self.gap), np.int64)
        tiles[:, : self.tile] = shared[:, None]
        return tiles.reshape(-1)[: self.cells]

    def cell_of(self, index: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """The cells of elements, given their index of the axis and where in its tile they are."""
        return index // self.bin * (self.tile + self.gap) + inside % self.tile

    def ticks(self) -> Tuple[np.ndarray, np.ndarray]:
        """Indices of the axis to write beside the picture, and where: the middle of the first cell is 0.0.

        Example:
            >>> [each.tolist() for each in Side(20, 0).ticks()]
            [[0, 5, 10, 15], [0.0, 5.0, 10.0, 15.0]]
        """
        steps = (unit * 10**power for power in range(20) for unit in (1, 2, 5))
        indices = np.arange(0, self.length, next(step for step in steps if self.length <= step * _MOST_TICKS))
        return indices, (indices + 0.5) / self.bin * (self.tile + self.gap) - (self.gap + 1) / 2


class HeatMap(NamedTuple):
    """How the elements of a weight of one shape lie in a picture.

    Attributes:
        folded: the shape, with axes joined or added, as (rows in a tile, columns in a tile, tiles down, tiles across).
        rows: the side from top to bottom.
        columns: the side from left to right.
        on_its_side: whether the tiles down are those of the last axis, since there is only one tile across.
    """

    folded: Tuple[int, int, int, int]
    rows: Side
    columns: Side
    on_its_side: bool

    @property
    def elements_in_a_cell(self) -> int:
        """How many elements share a cell, but for the last bins, which may have fewer."""
        inside = self.folded[0] * self.folded[1] // (self.rows.tile * self.columns.tile)
        return self.rows.bin * self.columns.bin * inside

    def share(self, elements: ElementSet) -> np.ndarray:
        """The share of each cell's elements that are in a set.

        Args:
            elements: of the shape that the picture was made for.

        Returns:
            Float array (rows.cells, columns.cells), from 0.0 to 1.0, NaN in the gaps between tiles.

        Example:
            >>> heat_map((2, 2)).share(ElementSet.from_flat((2, 2), [1])).tolist()
            [[0.0, 1.0], [0.0, 0.0]]
        """
        sizes = np.outer(self.rows.sizes(), self.columns.sizes())
        sizes *= self.elements_in_a_cell // (self.rows.bin * self.columns.bin)
        counts = np.zeros(sizes.size, np.int64)
        for flat in elements.flat_blocks():
            inner_row, inner_column, row, column = np.unravel_index(flat, self.folded)
            if self.on_its_side:
                row, column = column, row
            cells = self.rows.cell_of(row, inner_row) * self.columns.cells + self.columns.cell_of(column, inner_column)
            counts += np.bincount(cells, minlength=len(counts))
        return np.divide(counts.reshape(sizes.shape), sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)


def heat_map(shape: Sequence[int]) -> HeatMap:
    """Choose how a weight of a shape is shown.

    Args:
        shape: of any rank, with at least one element.

    Returns:
        The layout of its picture, with at most `MOST_CELLS` cells on a side.

    Example:
        >>> layout = heat_map((3, 3, 16, 32))
        >>> layout.rows.cells, layout.columns.cells
        (63, 127)
        >>> heat_map((1000, 64)).rows
        Side(length=1000, axis=0, tile=1, gap=0, bin=16)
    """
    folded = _folded(tuple(shape))
    height, width, down, across = folded
    first, last = len(shape) - 2, len(shape) - 1
    on_its_side = across == 1 and down > 1
    if on_its_side:
        down, across, first, last = across, down, last, first
    gap = int(height * width > 1)
    rows, columns = Side(down, first, height, gap), Side(across, last, width, gap)
    if max(rows.cells, columns.cells) > MOST_CELLS:
        rows, columns = _binned(down, first), _binned(across, last)
    return HeatMap(folded, rows, columns, on_its_side)


def _folded(shape: Tuple[int, ...]) -> Tuple[int, int, int, int]:
    *outer, height, width, down, across = (1,) * (4 - len(shape)) + shape
    for length in outer:
        height *= length
    return height, width, down, across


def _binned(length: int, axis: int) -> Side:
    return Side(length, axis, bin=1 if length <= MOST_CELLS else -(-length // MOST_BINS))
