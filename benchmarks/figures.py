"""What a result is: a figure with its spread and what it is not to exceed; and how programs are timed against each other."""

import argparse
import json
import os
import platform
import statistics
import sys
import time

import numpy as np

from page import missed


def row(part, program, case, variant, figure, spread=None, unit="x", target=None, **more):
    """One line of the results.

    `part` is the table it belongs to; `program`, `case` and `variant` say what was measured; `spread` is the middle half
    of what was seen. More numbers beside the figure: `cpu`, the same figure in processor time; `milliseconds`.
    """
    low, high = (figure, figure) if spread is None else spread
    found = {"part": part, "program": program, "case": case, "variant": variant, "figure": _short(figure), "unit": unit}
    return dict(found, spread=[_short(low), _short(high)], target=target, **more)


def line(found):
    """A row as it is printed."""
    text = "  {:<36} {:<40} {:>9.3f} {:<14} ({:.3f} to {:.3f})".format(
        found["case"][:36], found["variant"], found["figure"], found["unit"], *found["spread"]
    )
    if "cpu" in found:
        text += "  cpu {:.3f}".format(found["cpu"])
    if "milliseconds" in found:
        text += "  {:.3f} ms".format(found["milliseconds"])
    return text + ("  MISSED {:g}".format(found["target"]) if missed(found) else "")


def alternate(running, rounds, prepare=None, warm_up=2):
    """Run each function of {name: function} once a round, and compare all of them with the first.

    `prepare` has for some names a function that is called before, untimed; what it returns is given to the one timed.
    Each gets {"figure", "spread", "cpu", "milliseconds"}: the median over the rounds of its time divided by the first
    one's in the same round, the middle half of that, the median in processor time, and its median time.
    """
    prepare = prepare or {}
    taken = {name: [] for name in running}
    for k in range(warm_up + rounds):
        for name, run in running.items():
            given = (prepare[name](),) if name in prepare else ()
            seconds = _timed(run, given)
            if k >= warm_up:
                taken[name].append(seconds)
    first = taken[next(iter(running))]
    return {name: _compared(times, first) for name, times in taken.items()}


def middle_half(values):
    values = sorted(values)
    quarter = len(values) // 4
    return values[quarter], values[-1 - quarter]


def _timed(run, given):
    wall, cpu = time.perf_counter(), time.process_time()
    run(*given)
    return time.perf_counter() - wall, time.process_time() - cpu


def _compared(times, first):
    ratios = [one[0] / other[0] for one, other in zip(times, first)]
    cpu = [one[1] / other[1] for one, other in zip(times, first) if other[1]]
    return {
        "figure": statistics.median(ratios),
        "spread": middle_half(ratios),
        "cpu": _short(statistics.median(cpu)) if cpu else 0.0,
        "milliseconds": _short(1000 * statistics.median(time[0] for time in times)),
    }


def _short(number):
    return float("{:.4g}".format(float(number)))


def facts():
    """What the figures are of; TensorFlow's version only where it has been imported."""
    found = {"python": platform.python_version(), "numpy": np.__version__, "processors": os.cpu_count()}
    if "tensorflow" in sys.modules:
        found["tensorflow"] = sys.modules["tensorflow"].__version__
    return found


def parser(document):
    """A parser of arguments with the option --json."""
    made = argparse.ArgumentParser(description=document.split("\n")[0])
    made.add_argument("--json", metavar="FILE", help="write the figures there")
    return made


def show(rows, path=None, **more_facts):
    """Print rows as they come, and write them."""
    kept, head = [], None
    for found in rows:
        if (found["part"], found["program"]) != head:
            head = found["part"], found["program"]
            print("{}: {}".format(*head))
        print(line(found), flush=True)
        kept.append(found)
    if path:
        with open(path, "w") as file:
            json.dump(dict(facts(), rows=kept, **more_facts), file, indent=1)
