"""Figures of heat maps: what is in them, and the files; `freezecompat masks --plot`. What a cell holds is in test_heat_map."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from freezecompat import cli, plots
from freezecompat.element_set import ElementSet
from freezecompat.exceptions import ArgumentError, MissingDependency
from freezecompat.plots import Panel, plot

KERNEL = ElementSet.from_flat((4, 3), [5, 10])
NONE = ElementSet.empty((4, 3))


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]


def texts(figure):
    return [text.get_text() for text in figure.texts]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def colours(figure):
    """The picture of the first weight: array (rows, columns, 4)."""
    return np.asarray(next(axes for axes in figure.axes if axes.get_title(loc="left")).images[0].get_array())


def test_a_panel_names_its_weight():
    """Address, shape and counts; the heading has their sums."""
    figure = plot([Panel("hidden/kernel", KERNEL, None), Panel("hidden/bias", ElementSet.full((3,)), None)])
    assert titles(figure) == ["hidden/kernel  (4, 3)\n2 of 12 frozen", "hidden/bias  (3,)\n3 of 3 frozen"]
    assert texts(figure) == ["5 elements frozen in 2 weights"]
    assert legend(figure) == ["free", "frozen"]


def test_what_moved_has_a_colour_of_its_own():
    """Free, frozen and moved cells are of three colours, which the legend names."""
    figure = plot([Panel("hidden/kernel", KERNEL, ElementSet.from_flat((4, 3), [10]))])
    assert titles(figure) == ["hidden/kernel  (4, 3)\n2 of 12 frozen, 1 moved"]
    assert texts(figure) == ["2 elements frozen in 1 weight; 1 moved"]
    assert legend(figure) == ["free", "frozen", "moved"]
    patches = [patch.get_facecolor() for patch in figure.legends[0].get_patches()]
    shown = colours(figure)
    np.testing.assert_allclose([shown[place] for place in ((0, 0), (1, 2), (3, 1))], patches)


def test_only_what_is_frozen_has_a_panel():
    """A weight of which nothing is frozen has none; without any the figure says so."""
    assert len(titles(plot([Panel("a", NONE, NONE), Panel("b", KERNEL, NONE)]))) == 1
    figure = plot([Panel("a", NONE, NONE)])
    assert titles(figure) == [] and texts(figure) == ["nothing is frozen"]


def test_many_weights_are_limited():
    """Those that moved are shown, and then the first, in their order; the figure says how many it leaves out."""
    panels = [Panel(str(k), KERNEL, KERNEL if k == 19 else NONE) for k in range(20)]
    figure = plot(panels)
    assert [title.split()[0] for title in titles(figure)] == [str(k) for k in list(range(11)) + [19]]
    assert texts(figure)[-1] == "8 more weights with frozen elements left out"


def test_one_element_of_a_million_is_seen():
    """Its cell has a colour that is clearly another one, and a ring around it; a bar says what shares look like."""
    figure = plot([Panel("kernel", ElementSet.from_flat((1000, 1000), [500020]), None)])
    shown = colours(figure)
    assert shown.shape == (63, 63, 4) and np.abs(shown[31, 1] - shown[0, 0]).max() > 0.4
    axes = figure.axes[-1]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[1.0, 31.0]]]
    assert axes.get_xlabel() == "axis 1; a cell is 256 elements"
    assert texts(figure)[1] == "share of a cell that is frozen: > 0 to 100 %"


def test_gaps_between_tiles_are_left_free():
    """They are transparent, and the axis says what a tile is."""
    figure = plot([Panel("conv/kernel", ElementSet.from_flat((3, 3, 2, 2), [0]), None)])
    alpha = colours(figure)[..., 3]
    assert alpha.shape == (7, 7) and not alpha[3].any() and not alpha[:, 3].any() and alpha.sum() == 36
    assert figure.axes[0].get_xlabel() == "axis 3; a tile is 3 x 3"


def test_addresses_are_no_formulas(tmp_path):
    """Dollar signs are themselves, and long addresses lose their beginning."""
    figure = plot([Panel("a$b_{$" + "x" * 60, KERNEL, None), Panel("$\\no$", KERNEL, None)], tmp_path / "a.png")
    assert titles(figure)[0].startswith("..." + "x" * 41 + "  (4, 3)")
    assert titles(figure)[1].startswith("\\$\\no\\$  (4, 3)")


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF")])
def test_files(tmp_path, ending, start):
    """The ending of the name is the format; the file is replaced, and nothing else is left."""
    path = tmp_path / ("masks." + ending)
    path.write_text("before")
    plot([Panel("kernel", KERNEL, None)], path)
    assert path.read_bytes().startswith(start) and os.listdir(str(tmp_path)) == [path.name]


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    """When it can't be, what was there before is still there."""
    path = tmp_path / "masks.png"
    path.write_text("before")

    def full(self, file, **options):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises(ArgumentError, match="can't write .*masks.png: No space left on device"):
        plot([Panel("kernel", KERNEL, None)], path)
    assert path.read_text() == "before" and os.listdir(str(tmp_path)) == ["masks.png"]


def test_without_matplotlib(monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependency) as caught:
        plot([Panel("kernel", KERNEL, None)])
    assert str(caught.value) == 'plots need matplotlib: pip install "freezecompat[plot]"'


def test_pyplot_is_left_alone(tmp_path):
    """No import of this package brings matplotlib, and no figure brings pyplot."""
    code = """
import sys, freezecompat, freezecompat.cli
from freezecompat.element_set import ElementSet
from freezecompat.plots import Panel, plot
assert "matplotlib" not in sys.modules
plot([Panel("kernel", ElementSet.full((2, 2)), None)], sys.argv[1] + "/a.svg")
plot([Panel("kernel", ElementSet.full((2, 2)), None)], sys.argv[1] + "/a.png")
assert "matplotlib.pyplot" not in sys.modules
"""
    source = os.path.dirname(os.path.dirname(plots.__file__))
    subprocess.check_call([sys.executable, "-c", code, str(tmp_path)], env=dict(os.environ, PYTHONPATH=source))


# The command ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def masks(tmp_path, monkeypatch):
    """Runs `freezecompat masks` in a folder with a model and a spec."""
    monkeypatch.chdir(tmp_path)
    np.savez("model.npz", **{"hidden/kernel": np.zeros((4, 3)), "hidden/bias": np.zeros(3)})
    spec = {"freezecompat": 1, "freeze": [{"weight": "hidden/kernel", "elements": [[1, 2], [3, 1]]}]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    return lambda *more: cli.main(["masks", "model.npz", "--spec", "spec.json"] + list(more))


def test_the_command_draws_what_it_prints(masks, capsys):
    """The table is as without --plot; the picture has the same weights."""
    assert masks("--plot", "masks.svg") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["hidden/kernel  (4, 3)  2       12"]
    with open("masks.svg") as file:
        text = file.read()
    assert "hidden/kernel" in text and "hidden/bias" not in text


@pytest.mark.parametrize(
    "path, error",
    [
        ("masks.jpg", "can't write masks.jpg: its name ends in none of .png, .svg, .pdf"),
        ("nowhere/masks.png", "can't write nowhere/masks.png: no such folder"),
    ],
)
def test_wrong_files_are_one_line_before_any_work(masks, capsys, path, error):
    """Exit code 2, and no table."""
    assert masks("--plot", path) == 2
    assert capsys.readouterr() == ("", "freezecompat: {}\n".format(error))


def test_the_command_without_matplotlib(masks, capsys, monkeypatch):
    """One line that names the extra, exit code 2."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert masks("--plot", "masks.png") == 2
    assert capsys.readouterr().err == 'freezecompat: plots need matplotlib: pip install "freezecompat[plot]"\n'
    assert not os.path.exists("masks.png")
