"""What `freezecompat list`, `masks` and `verify` print, and their exit codes."""

import argparse
import sys
from typing import Any, Dict, List

from .. import _result_file, plots
from .._json_text import read_json
from .._terminal import print_table, print_verdict
from ..exceptions import ArgumentError, Moved
from ..masks import build
from ..spec import FreezeSpec
from . import open_model
from .compare import compare

#: How many moved elements are printed.
PRINTED = 20

#: How many entries of a file that are no weights are named.
LISTED = 3


def print_weights(options: argparse.Namespace) -> int:
    """`freezecompat list MODEL`."""
    model = open_model(options.model)
    rows = [[row.address, str(row.shape), row.dtype] for row in model.rows]
    print_table([["weight", "shape", "dtype"]] + rows, sys.stdout)
    if model.left_out:
        more = len(model.left_out) - LISTED
        print(
            "left out, as no weights: {}{}".format(
                ", ".join(model.left_out[:LISTED]), " and {} more".format(more) if more > 0 else ""
            )
        )
    return 0


def print_masks(options: argparse.Namespace) -> int:
    """`freezecompat masks MODEL --spec SPEC [--plot FILE]`."""
    if options.plot is not None:
        plots.check_path(options.plot)
        _result_file.check_writable(options.plot)
    model = open_model(options.model)
    sets = build(_spec(options.spec), model.rows, model.read).sets
    lines = [["weight", "shape", "frozen", "elements"]]
    for address, elements in sets.items():
        lines.append([address, str(elements.shape), str(elements.count), str(elements.size)])
    print_table(lines, sys.stdout)
    if options.plot is not None:
        plots.plot([plots.Panel(address, elements, None) for address, elements in sets.items()], options.plot)
    return 0


def verify(options: argparse.Namespace) -> int:
    """`freezecompat verify BEFORE AFTER --spec SPEC`."""
    if options.json is not None:
        _result_file.check_writable(options.json)
    spec, names = _spec(options.spec), _names(options.names)
    found = compare(open_model(options.before), open_model(options.after), spec, names)
    if found.moved:
        rows = [_cells(one) for one in found.first[:PRINTED]]
        print_table([["weight", "element", "before", "now"]] + rows, sys.stdout)
    if found.moved > PRINTED:
        print("and {} more".format(found.moved - PRINTED))
    print_verdict("{} of {} frozen elements moved".format(found.moved, found.compared), not found.moved, sys.stdout)
    if options.json is not None:
        _result_file.write(options.json, found.to_dict())
    return 1 if found.moved else 0


def _cells(one: Moved) -> List[str]:
    before, now = str(one.before), str(one.now)
    if before == now:  # two NaNs
        before, now = one.before.tobytes().hex(), one.now.tobytes().hex()
    return [one.weight, str(list(one.element)), before, now]


def _spec(path: str) -> FreezeSpec:
    try:
        return FreezeSpec.load(path)
    except OSError as error:
        raise ArgumentError("can't read the spec {}: {}".format(path, error.strerror)) from error


def _names(path: Any) -> Dict[str, str]:
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            names = read_json(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError("can't read the name map {}: {}".format(path, error)) from error
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ArgumentError("{} is no name map: {{address in AFTER: address in BEFORE}}".format(path))
    return names
