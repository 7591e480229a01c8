"""Every figure of docs/performance.md, of the TensorFlow at hand.

    python benchmarks/all.py [--folder docs/performance] [--only SCRIPT ...] [--rounds N] [--quick]

It runs training_step.py, growth.py, memory.py and build_masks.py, part by part in processes of their own, prints what they print, writes the
figures to tfX.Y.json and a picture of them to tfX.Y.png in the folder, and makes docs/performance.md of all that is there (page.py). That takes
hours of a quiet machine with 24 GB. Each part is written as soon as it is there, over what the folder has of the same; --only measures some parts
anew. --quick shows in minutes that everything runs, with figures that say nothing, and makes no page.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import page

HERE = os.path.dirname(os.path.abspath(__file__))
IN_ROUNDS = ("training_step.py", "growth.py")
SECTIONS = ("weights", "predicate", "elements", "calls", "size")
#: (script with its arguments, arguments that make it quick)
RUNS = (
    [(["training_step.py"], ["--size", "64", "--load", "dense", "--rounds", "1"])]
    + [
        (
            ["growth.py", "--section", section],
            "--weights 1 --largest 1000000 --memory 0.001 --calls 20 --rounds 1".split(),
        )
        for section in SECTIONS
    ]
    + [
        (
            ["memory.py"],
            ["--size", "600", "--repeat", "1", "--program", "in a graph", "--variant", "freezecompat, half"],
        )
    ]
    + [(["build_masks.py"], ["--elements", "1000000", "--repeat", "1"])]
)


def results(quick, only, rounds):
    """What each of them has found: the facts of the runtime, and rows."""
    for (script, *arguments), quickly in RUNS:
        if only and script not in only:
            continue
        print("# " + " ".join([script] + arguments), flush=True)
        command = [sys.executable, os.path.join(HERE, script)] + arguments + (quickly if quick else [])
        if rounds is not None and script in IN_ROUNDS:
            command += ["--rounds", str(rounds)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            code = subprocess.run(command + ["--json", path]).returncode
            if not os.path.exists(path):
                raise SystemExit("{} ended with {} and wrote no figures".format(" ".join(command), code))
            with open(path) as file:
                yield json.load(file)


def written(found, folder, tensorflow):
    """Write figures in place of those of the same parts that the folder has of this TensorFlow; returns the file's path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, page.file_name({"tensorflow": tensorflow}))
    kept = {"rows": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    parts = {row["part"] for row in found["rows"]}
    rows = [row for row in kept["rows"] if row["part"] not in parts] + found["rows"]
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(dict(kept, **dict(found, tensorflow=tensorflow, rows=rows)), file, indent=1, sort_keys=True)
        file.write("\n")
    os.replace(path + ".new", path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", default=page.RESULTS, help="where the figures and the picture go")
    scripts = sorted({command[0] for command, _ in RUNS})
    parser.add_argument("--only", nargs="+", choices=scripts, metavar="SCRIPT", default=[], help=", ".join(scripts))
    parser.add_argument("--rounds", type=int, help="of {}, instead of their own number".format(", ".join(IN_ROUNDS)))
    parser.add_argument("--quick", action="store_true", help="show that everything runs, on little data")
    options = parser.parse_args()
    if options.quick and os.path.abspath(options.folder) == os.path.abspath(page.RESULTS):
        parser.error("--quick needs a --folder of its own: its figures say nothing")
    tensorflow = version_of_tensorflow()
    for found in results(options.quick, options.only, options.rounds):
        path = written(found, options.folder, tensorflow)
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    draw(found, os.path.splitext(path)[0] + ".png")
    print("{} figures, {} missed: {}".format(len(found["rows"]), sum(map(page.missed, found["rows"])), path))
    if not options.quick:
        page.write(options.folder)


def version_of_tensorflow():
    """Not imported here, where it would take memory and threads from what is measured."""
    code = "import tensorflow; print(tensorflow.__version__)"
    return subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout.decode().split()[-1]


def draw(found, path):
    """A picture: the step of each program above, growth below."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(11, 14))
    step, growth = picture.subplots(2, 1, gridspec_kw={"height_ratios": [3, 2]})
    rows = [row for row in found["rows"] if row["part"] == "step" and row["variant"] != "plain"]
    places = list(dict.fromkeys((row["program"], row["case"]) for row in rows))
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    for number, variant in enumerate(variants):
        of_it = [row for row in rows if row["variant"] == variant]
        y = [-places.index((row["program"], row["case"])) - 0.7 * number / len(variants) for row in of_it]
        x = [row["figure"] for row in of_it]
        spread = [[max(0, row["figure"] - row["spread"][0]) for row in of_it]]
        spread += [[max(0, row["spread"][1] - row["figure"]) for row in of_it]]
        marker = "o" if variant.startswith("freezecompat") else "x"
        step.errorbar(x, y, xerr=spread, fmt=marker, markersize=4, linewidth=1, label=variant)
    step.set_yticks([-0.35 - k for k in range(len(places))])
    step.set_yticklabels(["{}, {}".format(*place) for place in places], fontsize=8)
    step.axvline(1, color="black", linewidth=0.5)
    step.set_xlabel("a step, divided by the plain one; bars: the middle half")
    step.legend(fontsize=7)
    lines = {}
    for row in found["rows"]:
        if row["part"] in ("growth: weights", "growth: size") and row["unit"].startswith("x"):
            number = int(row["case"].split()[0].replace(",", ""))
            lines.setdefault((row["part"], row["program"], row["variant"]), []).append((number, row["figure"]))
    for name, points in lines.items():
        growth.plot(*zip(*points), marker=".", linewidth=1, label=", ".join(name).replace("growth: ", ""))
    growth.set_xscale("log")
    growth.set_yscale("log")
    growth.set_xlabel("weights, or elements of one weight")
    growth.set_ylabel("divided by plain, or by building the optimizer")
    growth.legend(fontsize=6)
    picture.suptitle(page.caption(found))
    picture.savefig(path, dpi=70, bbox_inches="tight")


if __name__ == "__main__":
    main()
