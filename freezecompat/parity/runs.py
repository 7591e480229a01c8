"""The child process of one run: how it is started, and its row in the result."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from .._json_text import plain
from .interpreters import Interpreter
from .processes import Command, Ended
from .ulp import hex_bits

_LOG_LINES = 12
_LOG_BYTES = 65536  # looked at for those lines

# For the children only, and only where the user has not set them. oneDNN computes a dense layer as one fused kernel in
# a graph and as several in eager mode, so that two APIs of one TensorFlow would be tens of ULPs apart, and that far
# only on this processor. Set TF_ENABLE_ONEDNN_OPTS=1 to compare with it.
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}

# Runs this package from its folder, without a look at what the other interpreter has installed under its name, and
# without leaving compiled files of that interpreter in the folder.
_START = """
import importlib.util, sys
sys.path[:] = filter(None, sys.path)  # not the working folder: a script would not import from there either
folder = sys.argv.pop(1)
init = folder + "/__init__.py"
spec = importlib.util.spec_from_file_location("freezecompat", init, submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules["freezecompat"] = package
before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
spec.loader.exec_module(package)
from freezecompat.parity import child
sys.dont_write_bytecode = before
child.main(sys.argv[1:])
"""


class Run(NamedTuple):
    """One run that is to be made.

    Attributes:
        interpreter: what runs it.
        api: what it is trained under, "" for the doctor.
        result: path of the result's files, without their endings.
        log: path of its log.
    """

    interpreter: Interpreter
    api: str
    result: str
    log: str

    def command(self, *action: str) -> Command:
        """The child process; `action` is what `child.main` takes."""
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        arguments = [self.interpreter.executable, "-c", _START, here, action[0], self.result] + list(action[1:])
        return Command(arguments, dict(_ENVIRONMENT, **self.interpreter.environment()), self.log)

    def begun(self) -> bool:
        """The model is built, and trains."""
        return os.path.exists(self.result + ".begun")

    def known(self) -> Dict[str, Any]:
        """What the child has written about itself so far."""
        if not os.path.exists(self.result + ".json"):
            return {}
        with open(self.result + ".json") as file:
            return dict(json.load(file))

    def row(self, end: Ended) -> Dict[str, Any]:
        """What it left behind, as a row of the result, with "arrays" that are no plain data yet."""
        found: Dict[str, Any] = {
            "interpreter": self.interpreter.executable,
            "python": self.interpreter.python,
            "tensorflow": None,
            "keras": None,
            "numpy": None,
            "api": self.api,
            "status": "failed",
            "reason": None,
            "log": [],
            "log_file": None,
        }
        found.update(self.known())
        found["seconds"] = round(end.seconds, 3)
        if end.fault is not None:
            found["status"] = "timeout" if end.timed_out else "failed"
            found["reason"] = end.fault
        lines = last_lines(self.log)
        if found["status"] not in ("ran", "unavailable", "found"):
            found["log"] = lines
        if end.fault is not None and not end.timed_out and lines and _is_exception(lines[-1]):
            found["reason"] += ": " + lines[-1].strip()
        if found["status"] == "ran":
            with np.load(self.result + ".npz") as arrays:
                found["arrays"] = {name: arrays[name] for name in arrays.files}
            summarize(found)
        return found


def last_lines(path: str) -> List[str]:
    """The end of a log."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _LOG_BYTES))
        return file.read().decode("utf-8", "replace").splitlines()[-_LOG_LINES:]


def _is_exception(line: str) -> bool:
    return line.split(":")[0].split(".")[-1].endswith(("Error", "Exception", "Interrupt"))


def summarize(run: Dict[str, Any]) -> None:
    """Turn the arrays of a run that ran into plain data, and count over its weights."""
    losses = np.array(run["losses"], np.float64)
    run["losses"] = plain(losses)
    run["losses_bits"] = hex_bits(losses)
    run["steps"] = len(losses)
    run["loss"], run["loss_bits"] = run["losses"][-1], run["losses_bits"][-1]
    for k, weight in enumerate(run["weights"]):
        initial, final = (run["arrays"]["{}_{}".format(which, k)] for which in ("initial", "final"))
        weight["initial"], weight["initial_bits"] = plain(initial), bits(initial)
        weight["values"], weight["bits"] = plain(final), bits(final)
        weight["mask"] = run["arrays"]["mask_{}".format(k)].tolist()
    trainable = [weight for weight in run["weights"] if weight["trainable"]]
    run["frozen"] = sum(weight["frozen"] for weight in run["weights"])
    run["frozen_held"] = not any(weight["frozen_moved"] for weight in run["weights"])
    run["free"] = sum(weight["free"] for weight in trainable)
    run["free_moved"] = sum(weight["free_moved"] for weight in trainable)


def bits(array: np.ndarray) -> Optional[List[str]]:
    """The bits of floats, None for integers, which JSON keeps as they are."""
    return hex_bits(array) if array.dtype.kind == "f" else None
