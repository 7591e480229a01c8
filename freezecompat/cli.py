"""The command `freezecompat`.

Exit codes: 0 it is so, 1 it is not so, 2 the question was wrong (one line on stderr).
"""

import argparse
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import __version__, _result_file
from .exceptions import ArgumentError, FreezeCompatError
from .model_files import show as show_files
from .parity import APIS, doctor, run_parity
from .parity import template
from .parity.progress import display
from .parity.show import print_result

#: What tox runs the whole suite on, and what it runs the two problems on: (Python, TensorFlow).
TESTED: Tuple[Tuple[str, str], ...] = (("3.7", "1.15.5"), ("3.11", "2.15.1"), ("3.13", "2.21.0"))
SMOKE_TESTED: Tuple[Tuple[str, str], ...] = (("3.7", "1.13.2"), ("3.7", "2.0.4"), ("3.8", "2.4.4"), ("3.9", "2.8.4"))

_MODEL = "a file of weights: .npz, .npy, .h5, .keras, a checkpoint, or the folder of a SavedModel"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run a command.

    Args:
        arguments: by default those of the process.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except FreezeCompatError as error:
        print("freezecompat: {}".format(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """A usage error is one line."""

    def error(self, message: str) -> Any:
        self.exit(2, "{}: {} (see {} --help)\n".format(self.prog, message, self.prog))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="freezecompat", description="Freeze single elements of a model's weights, under every TensorFlow."
    )
    parser.add_argument("--version", action="version", version="freezecompat " + __version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    parity = commands.add_parser(
        "parity",
        help="train one experiment under every API and compare the weights bit by bit",
        description="Train one experiment under every API of this and other interpreters, each in a process of its "
        "own, and compare the weights bit by bit. Exit code 0: every frozen bit held and the free elements agree; 1: "
        "not so; 2: usage error; 130: interrupted.",
    )
    parity.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="problem-1, problem-2, or a .py file")
    parity.add_argument(
        "--python",
        nargs="+",
        action="append",
        metavar="PYTHON",
        help="another interpreter: its path, the folder of a virtual environment, or the name of a tox environment or "
        "of a command; may be repeated. It needs TensorFlow and numpy, and no freezecompat",
    )
    parity.add_argument("--api", nargs="+", action="append", metavar="API", help="only these of " + ", ".join(APIS))
    parity.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop a run that takes longer")
    parity.add_argument("--json", metavar="FILE", help="write the whole result there")
    parity.add_argument("--logs", metavar="FOLDER", help="keep what each run printed there")
    parity.add_argument("--quiet", action="store_true", help="show no progress")
    parity.add_argument("--new", metavar="FILE", help="write an experiment to start from, and do nothing else")
    parity.set_defaults(run=_parity)
    find = commands.add_parser("doctor", help="say what is installed, what it offers and what is tested")
    find.set_defaults(run=_doctor)
    schema = commands.add_parser("schema", help="print the JSON Schema of spec files")
    schema.set_defaults(run=_schema)
    _add_file_commands(commands)
    return parser


def _add_file_commands(commands: Any) -> None:
    """The commands that look into files of weights."""
    rows = commands.add_parser("list", help="print the weights in a file: address, shape, dtype")
    rows.add_argument("model", metavar="MODEL", help=_MODEL)
    rows.set_defaults(run=show_files.print_weights)
    masks = commands.add_parser("masks", help="print how many elements of each weight in a file a spec freezes")
    masks.add_argument("model", metavar="MODEL", help=_MODEL)
    masks.add_argument("--spec", required=True, metavar="SPEC", help="a spec file")
    masks.add_argument("--plot", metavar="FILE", help="draw heat maps of them into a .png, .svg or .pdf file")
    masks.set_defaults(run=show_files.print_masks)
    verify = commands.add_parser(
        "verify",
        help="compare the frozen elements of two files, byte by byte",
        description="Compare the elements that a spec freezes in two files, byte by byte; elements that depend on "
        "values are those of BEFORE. Exit code 0: none moved; 1: some moved; 2: usage error.",
    )
    verify.add_argument("before", metavar="BEFORE", help=_MODEL)
    verify.add_argument("after", metavar="AFTER", help="the same, or one of another format, after a training")
    verify.add_argument("--spec", required=True, metavar="SPEC", help="a spec file")
    verify.add_argument("--names", metavar="FILE", help="JSON: {address in AFTER: address in BEFORE}")
    verify.add_argument("--json", metavar="FILE", help="write the result there")
    verify.set_defaults(run=show_files.verify)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("{!r} is no number of seconds above 0".format(text))
    return value


def _parity(options: argparse.Namespace) -> int:
    if options.new is not None:
        return _new(options)
    experiment, pythons, apis = _parity_arguments(options)
    if options.json is not None:
        _result_file.check_writable(options.json)
    with display(sys.stderr, options.quiet) as progress:
        result = run_parity(
            experiment, pythons=pythons, apis=apis, timeout=options.timeout, logs=options.logs, progress=progress
        )
    print_result(result, sys.stdout)
    if options.json is not None:
        _result_file.write(options.json, result)
    return 0 if result["passed"] else 1


def _parity_arguments(options: argparse.Namespace) -> Tuple[str, Optional[List[str]], Optional[List[str]]]:
    """The experiment, the interpreters and the APIs; the experiment may stand last, after several of those."""
    experiment, apis = options.experiment, None
    if options.api is not None:
        apis = [api for texts in options.api for text in texts for api in text.split(",")]
        if experiment is None and len(apis) > 1 and apis[-1] not in APIS:
            experiment = apis.pop()
    groups = options.python or []
    if experiment is None:
        experiment = next((group.pop() for group in reversed(groups) if len(group) > 1), None)
    if experiment is None:
        raise ArgumentError("parity needs an EXPERIMENT: problem-1, problem-2, or a .py file")
    return experiment, [python for group in groups for python in group] or None, apis


def _new(options: argparse.Namespace) -> int:
    if options.experiment is not None:
        raise ArgumentError("--new FILE writes an experiment and runs none: leave {} away".format(options.experiment))
    path = template.write(options.new)
    print("{} is there: change it, and run freezecompat parity {}".format(path, path))
    return 0


def _schema(options: argparse.Namespace) -> int:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spec.schema.json"), encoding="utf-8") as file:
        print(file.read(), end="")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    found = doctor()
    for name, value in _described(found):
        print("{:<14}{}".format(name, value))
    return 1 if found["status"] == "failed" else 0


def _described(found: Dict[str, Any]) -> List[Tuple[str, str]]:
    lines = [
        ("freezecompat", "{} in {}".format(__version__, os.path.dirname(os.path.abspath(__file__)))),
        ("Python", "{} at {}".format(found.get("python", "?"), found["interpreter"])),
        ("numpy", found.get("numpy", "?")),
    ]
    if found["status"] == "failed":
        lines.append(("TensorFlow", "does not start: {}".format(found["reason"])))
        lines.extend(("", "| " + line) for line in found["log"])
    elif found["tensorflow"] is None:
        lines.append(("TensorFlow", 'not installed: pip install "freezecompat[tensorflow]"'))
    else:
        tested = any(version == found["tensorflow"] for _, version in TESTED)
        lines.append(("TensorFlow", found["tensorflow"] + (" (tested)" if tested else "")))
        lines.append(("Keras", found["keras"] or "not installed"))
        lines.append(("tf_keras", found["tf_keras"] or "not installed"))
        lines.append(("detected", ", ".join("{} {}".format(*item) for item in found["backend"].items())))
        lines.extend((api, reason or "can run") for api, reason in found["apis"].items())
    lines.append(("tested", ", ".join(map(_pair, TESTED))))
    lines.append(("tried", "the two problems only: " + ", ".join(map(_pair, SMOKE_TESTED))))
    return lines


def _pair(versions: Tuple[str, str]) -> str:
    return "TensorFlow {1} on Python {0}".format(*versions)
