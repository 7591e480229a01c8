"""Heat maps of frozen elements: `Frozen.plot` and `freezecompat masks --plot`.

matplotlib is imported where a figure is made; pyplot, which keeps figures and a backend for the whole process, never is.
"""

import os
from typing import Any, List, NamedTuple, Optional, Sequence

import numpy as np

from ._replace import replacing
from .element_set import ElementSet
from .exceptions import ArgumentError, MissingDependency
from .heat_map import HeatMap, Side, heat_map

#: How many weights have a panel; the figure says how many are left out.
MOST_PANELS = 12

_ENDINGS = (".png", ".svg", ".pdf")
_DPI = 150

_FREE = (0.90, 0.90, 0.89)
_FEW, _FROZEN = (0.45, 0.67, 0.88), (0.03, 0.19, 0.42)  # a cell with few frozen elements must be seen among free ones
_MOVED = (0.91, 0.26, 0.08)

# In inches. A panel's own box for the picture is as large as its cells need, and never larger than the last line says.
_PANEL_WIDTH, _LEFT, _TOP, _BOTTOM = 4.7, 0.75, 0.5, 0.6
_MARGIN, _HEADER, _BAR, _NOTE = 0.2, 0.75, 0.25, 0.3
_WIDEST, _HIGHEST, _LARGEST_CELL, _NARROWEST = 3.7, 3.2, 0.4, 0.3

_LONGEST_TITLE = 50
_MOST_CELLS_WITH_LINES = 32
_MOST_RINGS = 6


class Panel(NamedTuple):
    """One weight in a figure.

    Attributes:
        address: its canonical address.
        frozen: its frozen elements.
        moved: those that hold other values than when they were frozen; None where that is not known.
    """

    address: str
    frozen: ElementSet
    moved: Optional[ElementSet]


def check_path(path: Any) -> None:
    """Before the work, and not after it.

    Raises:
        ArgumentError: the name does not tell a format.

    Example:
        >>> check_path("masks.jpg")
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.ArgumentError: can't write masks.jpg: its name ends in none of .png, .svg, .pdf
    """
    if _ending(path) not in _ENDINGS:
        raise ArgumentError("can't write {}: its name ends in none of {}".format(os.fspath(path), ", ".join(_ENDINGS)))


def plot(weights: Sequence[Panel], path: Any = None) -> Any:
    """Draw a heat map of each weight in which something is frozen.

    Args:
        weights: in weight order; of more than `MOST_PANELS` those in which something moved, and then the first.
        path: the .png, .svg or .pdf file to write, or None.

    Returns:
        The matplotlib Figure.

    Raises:
        MissingDependency: matplotlib is not installed.
        ArgumentError: the file can't be written.
    """
    if path is not None:
        check_path(path)
    figure = _figure([weight for weight in weights if weight.frozen])
    if path is not None:
        try:
            with replacing(path, "wb") as file:
                figure.savefig(file, format=_ending(path)[1:], dpi=_DPI)
        except OSError as error:
            raise ArgumentError("can't write {}: {}".format(os.fspath(path), error.strerror)) from error
    return figure


def _ending(path: Any) -> str:
    return os.path.splitext(os.fspath(path))[1].lower()


def _figure(weights: Sequence[Panel]) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependency('plots need matplotlib: pip install "freezecompat[plot]"') from None
    shown = _shown(weights)
    layouts = [heat_map(weight.frozen.shape) for weight in shown]
    boxes = [_box(layout) for layout in layouts]
    across = min(3, max(1, int(np.ceil(np.sqrt(len(shown))))))
    lines = [range(start, min(start + across, len(shown))) for start in range(0, len(shown), across)]
    heights = [_TOP + max(boxes[k][1] for k in line) + _BOTTOM for line in lines]
    shares = any(layout.elements_in_a_cell > 1 for layout in layouts)
    head = _HEADER + (_BAR if shares else 0.0)
    left_out = len(weights) - len(shown)
    size = (across * _PANEL_WIDTH, head + sum(heights) + (_NOTE if left_out else 0.0))
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    _draw_head(figure, weights, shares)
    top = size[1] - head
    for line, height in zip(lines, heights):
        for place, k in enumerate(line):
            left, bottom = place * _PANEL_WIDTH + _LEFT, top - _TOP - boxes[k][1]
            _draw(_axes(figure, left, bottom, *boxes[k]), shown[k], layouts[k])
        top -= height
    if left_out:
        text = "{} more weight{} with frozen elements left out".format(left_out, "" if left_out == 1 else "s")
        figure.text(_MARGIN / size[0], 0.12 / size[1], text, fontsize=10, style="italic")
    return figure


def _shown(weights: Sequence[Panel]) -> List[Panel]:
    """Those in which something moved first, and then all in their own order again."""
    moved_first = sorted(range(len(weights)), key=lambda k: not weights[k].moved)
    return [weights[k] for k in sorted(moved_first[:MOST_PANELS])]


def _box(layout: HeatMap) -> Any:
    """Width and height of a picture: cells are squares as far as there is room."""
    rows, columns = layout.rows.cells, layout.columns.cells
    cell = min(_LARGEST_CELL, _WIDEST / columns, _HIGHEST / rows)
    return max(cell * columns, _NARROWEST), max(cell * rows, _NARROWEST)


def _axes(figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
    across, up = figure.get_size_inches()
    return figure.add_axes([left / across, bottom / up, width / across, height / up])


# One weight ----------------------------------------------------------------------------------------------------------


def _draw(axes: Any, weight: Panel, layout: HeatMap) -> None:
    frozen = layout.share(weight.frozen)
    moved = np.zeros(frozen.shape) if weight.moved is None else layout.share(weight.moved)
    axes.imshow(_colours(frozen, moved), interpolation="nearest", aspect="auto")
    axes.set_title(_title(weight), loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _label(axes.set_xticks, axes.set_xticklabels, axes.set_xlabel, layout.columns, _of_a_cell(layout))
    _label(axes.set_yticks, axes.set_yticklabels, axes.set_ylabel, layout.rows)
    if max(frozen.shape) > _MOST_CELLS_WITH_LINES:
        _ring(axes, frozen, _FROZEN)
        _ring(axes, moved, _MOVED)
    elif layout.rows.gap == 0:
        _separate(axes, frozen.shape)


def _ring(axes: Any, share: np.ndarray, colour: Any) -> None:
    """Point at the cells with something in them, where those are so few that they may be overlooked."""
    rows, columns = np.nonzero(np.nan_to_num(share))
    if 0 < len(rows) <= _MOST_RINGS:
        axes.plot(columns, rows, "o", markersize=11, markerfacecolor="none", markeredgecolor=colour, clip_on=False)


def _separate(axes: Any, cells: Sequence[int]) -> None:
    """Draw lines between cells that are large enough for it."""
    for number, line in zip(cells, (axes.axhline, axes.axvline)):
        for place in range(1, number):
            line(place - 0.5, color=axes.figure.get_facecolor(), linewidth=1)


def _label(set_ticks: Any, set_labels: Any, set_name: Any, side: Side, note: str = "") -> None:
    indices, places = side.ticks()
    if side.length == 1:
        indices, places = indices[:0], places[:0]
    set_ticks(places)
    set_labels([str(index) for index in indices])
    name = "axis {}".format(side.axis) if side.length > 1 else ""
    set_name("; ".join(filter(None, [name, note])), fontsize=8)


def _of_a_cell(layout: HeatMap) -> str:
    if layout.elements_in_a_cell > 1:
        return "a cell is {:,} elements".format(layout.elements_in_a_cell)
    return "a tile is {} x {}".format(layout.rows.tile, layout.columns.tile) if layout.rows.gap else ""


def _title(weight: Panel) -> str:
    shape = str(weight.frozen.shape)
    address = weight.address
    if len(address) + len(shape) > _LONGEST_TITLE:
        address = "..." + address[len(shape) + 3 - _LONGEST_TITLE :]
    text = "{:,} of {:,} frozen".format(weight.frozen.count, weight.frozen.size)
    if weight.moved is not None:
        text += ", {:,} moved".format(weight.moved.count)
    # Two dollar signs would make a formula of what is between them (test_addresses_are_no_formulas).
    return "{}  {}\n{}".format(address.replace("$", r"\$"), shape, text)


def _colours(frozen: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """From shares of cells to an RGBA array (rows, columns, 4); gaps are transparent."""
    gaps = np.isnan(frozen)
    share = np.where(gaps, 0.0, frozen)[..., None]
    colours = np.ones(frozen.shape + (4,))
    colours[..., :3] = np.where(share > 0, _FEW + share * np.subtract(_FROZEN, _FEW), _FREE)
    colours[np.nan_to_num(moved) > 0, :3] = _MOVED
    colours[gaps] = 0.0
    return colours


# The head of the figure ----------------------------------------------------------------------------------------------


def _draw_head(figure: Any, weights: Sequence[Panel], shares: bool) -> None:
    """What is in the figure, and what its colours mean."""
    from matplotlib.patches import Patch

    across, up = figure.get_size_inches()
    known = [weight.moved for weight in weights if weight.moved is not None]
    figure.text(_MARGIN / across, 1 - 0.3 / up, _heading(weights, known), fontsize=12, weight="bold")
    patches = [Patch(color=_FREE, label="free"), Patch(color=_FROZEN, label="frozen")]
    if known:
        patches.append(Patch(color=_MOVED, label="moved"))
    figure.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(_MARGIN / across, 1 - 0.42 / up),
        ncol=len(patches),
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        columnspacing=1.2,
        fontsize=9,
    )
    if shares:
        bar = _axes(figure, _MARGIN, up - 0.81, 1.0, 0.13)
        bar.imshow(_colours(np.linspace(1e-9, 1, 64)[None], np.zeros((1, 64))), aspect="auto")
        bar.set_axis_off()
        text = "share of a cell that is frozen: > 0 to 100 %"
        figure.text((_MARGIN + 1.1) / across, 1 - 0.79 / up, text, fontsize=9)


def _heading(weights: Sequence[Panel], known: Sequence[ElementSet]) -> str:
    if not weights:
        return "nothing is frozen"
    count = sum(weight.frozen.count for weight in weights)
    text = "{:,} element{} frozen in {} weight{}".format(
        count, "" if count == 1 else "s", len(weights), "" if len(weights) == 1 else "s"
    )
    return text + ("; {:,} moved".format(sum(moved.count for moved in known)) if known else "")
