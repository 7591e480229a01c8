"""Makes docs/performance.md of the figures in docs/performance/*.json, which all.py writes. Needs neither TensorFlow nor numpy.

    python benchmarks/page.py

A figure that misses its target has to have a reason in REASONS; without one there is no page.
"""

import fnmatch
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(HERE), "docs")
RESULTS = os.path.join(DOCS, "performance")

#: (TensorFlow, part, program, case, variant) as patterns -> why it misses its target. The first that fits counts.
REASONS = [
    # (("2.21*", "step", "Keras 3, op by op", "*", "freezecompat, *"), "why"),
]

HEAD = """\
# Performance

What a freeze costs, beside the same program without one, and beside what people write by hand. Nothing here is written by hand:
`python benchmarks/all.py` measures it under the TensorFlow at hand and writes `docs/performance/*.json`, and
`python benchmarks/page.py` makes this page of them.

A figure is a ratio where its unit begins with x: both programs ran in turn in one process, and each round gave one
ratio; the figure is their median, and in brackets is the middle half. Where another program has the machine for a while, both get slower; `plain again`,
a second plain program, shows what is left of that. `cpu` is the same ratio in the processor time of the process. **Bold** misses its target.
"""

#: part -> (heading, how the figure was got)
PARTS = {
    "step": (
        "A training step",
        "`benchmarks/training_step.py`. `dense`: a kernel of 3000 x 3000, batch 32, Adam: the optimizer dominates; `conv`: a small "
        "network: the model does. Targets: 1.05 for `dense`, 1.02 for `conv`, 1.15 op by op, whatever number of elements is frozen. "
        "`by hand, gradient times mask` and `by hand, select and put back` (a dense `where`) freeze half of the elements, as do the "
        "home-made `constraint` and tfmot's pruning; `scatter back one by one` is the published answer to problem 2, for two elements. "
        "Masking the gradient alone does not freeze: Adam that is warm moves the element all the same.",
    ),
    "growth: weights": (
        "Growth with the number of weights",
        "`benchmarks/growth.py --section weights`: weights of 4 x 4 and Adam. `attach`: `fc.freeze` with `FreezeSpec.empty()`, divided "
        "by what building the optimizer's slots takes; in a graph, by how much more `freeze` and the train op take than the "
        "plain train op. `operations more`: of the traced graph, counted. `Python calls of ours` in a compiled step, counted by "
        "`sys.setprofile`. Targets: 2 for `attach`, 0 calls.",
    ),
    "growth: predicate": (
        "Freezing by a predicate",
        '`benchmarks/growth.py --section predicate`: `fc.freeze` with `where("abs(w) < 1e-3")` on ten weights, divided by one numpy '
        "pass, `np.abs(w) < 1e-3`, over the same values. `warm`: the optimizer has slots, in which the frozen entries are reset. "
        "Target: 3.",
    ),
    "growth: elements": (
        "Growth with the number of frozen elements",
        "`benchmarks/growth.py --section elements`: one weight. `freeze`: the call of `frozen.freeze`, divided by the numpy pass above. "
        "`step`: divided by the plain step; target 1.05.",
    ),
    "growth: calls": (
        "Growth with the calls of freeze and thaw",
        "`benchmarks/growth.py --section calls`: one element of a small weight is frozen and thawed, again and again. Medians of "
        "ten calls, divided by that of the second to eleventh; the first call imports and probes.",
    ),
    "growth: size": (
        "Growth with the size of the model",
        "`benchmarks/growth.py --section size`: the step of one weight, divided by the plain one, up to what 20 GB hold. "
        "Target: 1.05 from 9 million elements on, where the optimizer dominates.",
    ),
    "memory: kept": (
        "Memory that a freeze keeps",
        "`benchmarks/memory.py`: the size of a process after some steps, frozen minus plain, divided by the elements of the kernel. In brackets: the "
        "lowest and the highest of three pairs of processes. Target: 1 byte an element, or 8 a frozen element where that is less, nothing for a slice; and "
        "8 MB, by which processes differ that do the same.",
    ),
    "memory: blocks": (
        "Large blocks that a step allocates",
        "`benchmarks/memory.py`: what a step allocates and writes, from the page faults that the system counts while glibc asks it for each "
        "block of a megabyte or more anew; frozen minus plain, in sizes of the kernel. Target: 1, the selected gradient (and 0.1 for small blocks).",
    ),
    "memory: peak": (
        "The peak of a step",
        "`benchmarks/memory.py`: the process at its largest in a step minus before it; frozen minus plain, in sizes of the kernel. "
        "Target: 1 (and 0.1 for small blocks).",
    ),
    "masks": (
        "Masks alone",
        "`benchmarks/build_masks.py`, numpy alone: the time to build the mask of one weight of 10^8 elements, divided by that of the numpy "
        "expression that does the same. Target: 2.",
    ),
}


def file_name(found):
    return "tf{}.json".format(".".join(found["tensorflow"].split(".")[:2]))


def caption(found):
    text = "TensorFlow {tensorflow}, Python {python}, numpy {numpy}, {processors} processors"
    return text.format(**found)


def read(folder=RESULTS):
    """The results in a folder, by version."""
    found = []
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file))
    return sorted(found, key=lambda result: [int(number) for number in result["tensorflow"].split(".")[:2]])


def missed(row):
    return row["target"] is not None and row["figure"] > row["target"]


def reason_of(result, row, reasons):
    """Why a row misses its target; raises LookupError where nobody has said."""
    names = (result["tensorflow"], row["part"], row["program"], row["case"], row["variant"])
    for patterns, why in reasons:
        if all(fnmatch.fnmatchcase(name, pattern) for name, pattern in zip(names, patterns)):
            return why
    raise LookupError(
        "{} misses its target, {:g}, with {:g}, and REASONS in benchmarks/page.py does not say why".format(
            ", ".join(names), row["target"], row["figure"]
        )
    )


def page(results, reasons=REASONS):
    """The text of docs/performance.md."""
    parts = [HEAD, "## What missed its target, and why\n", "\n".join(_misses(results, reasons)) + "\n"]
    for name, (heading, how) in PARTS.items():
        parts.append("## {}\n\n{}\n".format(heading, how))
        for result in results:
            rows = [row for row in result["rows"] if row["part"] == name]
            if rows:
                parts.append("### {}\n".format(caption(result)))
                parts.append("\n".join(_table(rows)) + "\n")
                if name == "step":
                    parts.append("![All programs](performance/{})\n".format(file_name(result).replace("json", "png")))
    return "\n".join(parts)


def _misses(results, reasons):
    """A line for each reason, and below it what it is the reason of."""
    found = {}
    for result in results:
        for row in filter(missed, result["rows"]):
            places = found.setdefault(reason_of(result, row, reasons), {})
            place = (result["tensorflow"], row["part"], row["program"], row["case"], row["target"])
            places.setdefault(place, []).append("{} {:g}".format(row["variant"], row["figure"]))
    lines = []
    for why, places in found.items():
        lines.append("* {}".format(why))
        for place, figures in places.items():
            lines.append("  * TensorFlow {}, {}: {}, {} (target {:g}): {}".format(*place, "; ".join(figures)))
    if not any(result["rows"] for result in results):
        return ["No results are kept yet."]
    return lines or ["Nothing."]


def _table(rows):
    """A line for each program and case, a column for each variant."""
    variants = list(dict.fromkeys(row["variant"] for row in rows if row["variant"] != "plain"))
    lines = [["", ""] + variants, ["---"] * (2 + len(variants))]
    cells = {(row["program"], row["case"], row["variant"]): row for row in rows}
    for program, case in dict.fromkeys((row["program"], row["case"]) for row in rows):
        made = [cells.get((program, case, variant)) for variant in variants]
        lines.append([program, case] + ["" if row is None else _cell(row) for row in made])
    return ["| {} |".format(" | ".join(line)) for line in lines]


def _cell(row):
    text = "{:g}".format(row["figure"])
    text = "**{}**".format(text) if missed(row) else text
    low, high = row["spread"]
    text += "" if low == high == row["figure"] else " ({:g} to {:g})".format(low, high)
    text += ", cpu {:g}".format(row["cpu"]) if "cpu" in row else ""
    return text + ("" if row["unit"].startswith("x") else " " + row["unit"])


def write(folder=RESULTS, path=os.path.join(DOCS, "performance.md")):
    text = page(read(folder))  # which raises before the old page is touched
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    try:
        write()
    except LookupError as error:
        sys.exit(str(error))
