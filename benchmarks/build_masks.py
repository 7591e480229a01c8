"""What it takes to build the masks of a large weight, beside the numpy expression that does the same.

    python benchmarks/build_masks.py [--elements 100000000] [--repeat 3] [--json FILE]

One weight of float32. Times are of freezecompat and of numpy in turn, in one process: the row has the median of each and
their ratio. Memory is the peak of what is allocated meanwhile, the result included and the weight not, in bytes an element. Specs by value
give the bool arrays of `fc.build_masks`; specs by position what `fc.freeze` works with, in which there is no dense mask.
Exit code 1 where a spec takes more than 2 times numpy's time, or more than 2.2 bytes an element by value, 0.1 by position.
"""

import argparse
import json
import os
import statistics
import sys
import time
import tracemalloc

import numpy as np

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import figures  # noqa: E402
import freezecompat as fc  # noqa: E402
from freezecompat import elements  # noqa: E402
from freezecompat.masks import build  # noqa: E402
from freezecompat.resolve import as_weights  # noqa: E402

COLUMNS = 1000
LIMIT = 2  # times the time of numpy
POSITIONS = [(k, 7 * k % COLUMNS) for k in range(0, 1000, 3)]


def numpy_ranked(w, count, largest):
    """The elements of largest or smallest magnitude; ties as they come."""
    magnitude = np.abs(w).reshape(-1)
    if largest:
        return magnitude >= np.partition(magnitude, -count)[-count]
    return magnitude <= np.partition(magnitude, count - 1)[count - 1]


def filled(w, index):
    mask = np.zeros(w.shape, bool)
    mask[index] = True
    return mask


BY_VALUE = {
    'where("abs(w) < 1e-3")': (elements.where("abs(w) < 1e-3"), lambda w: np.abs(w) < 1e-3),
    "zeros()": (elements.zeros(), lambda w: w == 0),
    "nonzero()": (elements.nonzero(), lambda w: w != 0),
    "smallest(0.8)": (elements.smallest(0.8), lambda w: numpy_ranked(w, int(w.size * 0.8 + 0.5), False)),
    "largest(0.1)": (elements.largest(0.1), lambda w: numpy_ranked(w, int(w.size * 0.1 + 0.5), True)),
    "random(0.5, seed=0)": (
        elements.random(0.5, seed=0),
        lambda w: np.random.RandomState(0).rand(*w.shape) < 0.5,
    ),
    "~slice": (~elements.slices("10:200, :"), lambda w: ~filled(w, np.s_[10:200, :])),
    "where(...) | zeros()": (
        elements.where("w > 0.5") | elements.zeros(),
        lambda w: (w > 0.5) | (w == 0),
    ),
}
BY_POSITION = {
    "elements": (POSITIONS, lambda w: filled(w, tuple(np.transpose(POSITIONS)))),
    "slice": (np.s_[10:200, :], lambda w: filled(w, np.s_[10:200, :])),
    "rows([...])": (elements.rows([1, 5, 9]), lambda w: filled(w, [1, 5, 9])),
    "units([...])": (elements.units([0, 3], axis=-1), lambda w: filled(w, np.s_[:, [0, 3]])),
    '"all"': ("all", lambda w: np.ones(w.shape, bool)),
}


def measured(function):
    """Seconds, and the peak of what was allocated meanwhile."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start, peak


def row(name, ours, theirs, size, repeat):
    ours()  # what is done once, such as an import, is done
    runs = [(measured(ours), measured(theirs)) for _ in range(repeat)]
    seconds = [statistics.median(run[k][0] for run in runs) for k in (0, 1)]
    ratios = [ours[0] / theirs[0] for ours, theirs in runs]
    return {
        "spec": name,
        "seconds": round(seconds[0], 4),
        "numpy_seconds": round(seconds[1], 4),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "bytes_per_element": round(max(run[0][1] for run in runs) / size, 4),
        "numpy_bytes_per_element": round(max(run[1][1] for run in runs) / size, 4),
    }


def run(options):
    """A row for each spec."""
    shape = (max(options.elements // COLUMNS, 1000), COLUMNS)
    w = np.random.RandomState(0).standard_normal(shape).astype(np.float32)
    w[::7, ::5] = 0
    rows = as_weights({"w": w})
    for name, (chosen, expression) in {**BY_VALUE, **BY_POSITION}.items():
        spec = fc.FreezeSpec({"w": chosen})
        ours = (lambda: fc.build_masks(spec, {"w": w})) if name in BY_VALUE else (lambda: build(spec, rows))
        found = row(name, ours, lambda: expression(w), w.size, options.repeat)
        limit = 2.2 if name in BY_VALUE else 0.1
        yield dict(found, elements=w.size, passed=found["ratio"] <= LIMIT and found["bytes_per_element"] <= limit)


def as_figure(found):
    """The row in the form of all benchmarks, with what it has beside."""
    case = "{:,} elements".format(found["elements"])
    made = figures.row(
        "masks", "numpy alone", case, found["spec"], found["ratio"], found["ratio_range"], "x numpy", LIMIT
    )
    return dict(found, **made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elements", type=int, default=10**8, help="size of the weight")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is timed")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    rows = []
    line = "{:<24} {:>9} {:>9} {:>7} {:>13} {:>13}"
    print(line.format("spec", "seconds", "numpy", "ratio", "bytes/element", "numpy's"))
    for found in run(options):
        rows.append(found)
        numbers = ("seconds", "numpy_seconds", "ratio", "bytes_per_element", "numpy_bytes_per_element")
        print(
            line.format(found["spec"], *map(found.get, numbers)) + ("" if found["passed"] else "  missed"), flush=True
        )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(dict(figures.facts(), rows=[as_figure(found) for found in rows]), file, indent=1)
    return 0 if all(found["passed"] for found in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
