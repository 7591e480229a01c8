"""What a child process of `freezecompat parity` and `doctor` executes: one run, written to files.

python -c START FOLDER train RESULT API EXPERIMENT      RESULT.json, and RESULT.npz with the weights
python -c START FOLDER doctor RESULT                    RESULT.json
"""

import json
import platform
import sys
from typing import Any, Dict, List

import numpy as np

from . import _parity_experiment
from ._parity_optimizers import Unavailable
from ._ulp import different_bits
from .exceptions import ArgumentError, MissingDependency

#: The APIs, in the order of the tables.
APIS = ("tf1-eager", "tf1-graph", "keras-fit", "keras-loop")

#: Runs this package from its folder, without a look at what the other interpreter has installed under its name.
START = """
import importlib.util, sys
sys.path[:] = filter(None, sys.path)  # not the working folder: a script would not import from there either
folder = sys.argv.pop(1)
init = folder + "/__init__.py"
spec = importlib.util.spec_from_file_location("freezecompat", init, submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules["freezecompat"] = package
spec.loader.exec_module(package)
from freezecompat import _parity_run
_parity_run.main(sys.argv[1:])
"""


def main(arguments: List[str]) -> None:
    """Do one action; what it found is in the result files, and an exception in the log."""
    action, result = arguments[:2]
    found = _platform()
    if action == "doctor":
        _doctor(found)
    else:
        api, path = arguments[2:]
        found.update(api=api, status="failed", reason="it did not come to an end")
        try:
            _run(found, result, api, path)
        except MissingDependency as error:
            found.update(status="no tensorflow", reason=str(error))
        except Unavailable as error:
            found.update(status="unavailable", reason=str(error))
        except ArgumentError as error:
            found.update(status="broken", reason=str(error))
    _write(result, found)


def _platform() -> Dict[str, Any]:
    return {
        "interpreter": sys.executable,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorflow": None,
        "keras": None,
    }


def _write(result: str, found: Dict[str, Any]) -> None:
    with open(result + ".json", "w") as file:
        json.dump(found, file)


def _import_tensorflow(found: Dict[str, Any]) -> Any:
    try:
        import tensorflow
    except ImportError as error:
        if getattr(error, "name", None) != "tensorflow":
            raise
        raise MissingDependency(
            'no TensorFlow is installed for {}: pip install "freezecompat[tensorflow]"'.format(sys.executable)
        ) from None
    found["tensorflow"] = tensorflow.__version__
    try:
        found["keras"] = _keras_version(tensorflow.keras)
    except ImportError:  # TF 2.16 and later with no Keras beside it
        pass
    return tensorflow


def _keras_version(keras: Any) -> str:
    version = getattr(keras, "__version__", None)
    package = keras.Model.__module__.split(".")[0]
    return version or "{}{}".format("tf-keras " if package == "tf_keras" else "", sys.modules[package].__version__)


def _doctor(found: Dict[str, Any]) -> None:
    try:
        tf = _import_tensorflow(found)
    except MissingDependency:
        return
    from ._parity_train import why_not
    from .api import detect_backend

    found["tf_keras"] = _version_of("tf_keras")
    found["apis"] = {api: why_not(api, tf) for api in APIS}
    found["backend"] = detect_backend()._asdict()


def _version_of(name: str) -> Any:
    try:
        return __import__(name).__version__
    except ImportError:
        return None


def _run(found: Dict[str, Any], result: str, api: str, path: str) -> None:
    experiment = _parity_experiment.load(path)
    found["experiment"] = {
        "title": experiment.title,
        "optimizer": _parity_experiment.options_text(experiment.optimizer),
        "loss": _parity_experiment.loss_text(experiment.loss),
        "steps": experiment.steps,
        "batch_size": experiment.batch_size,
        "tolerance_ulp": experiment.tolerance_ulp,
    }
    _write(result, found)  # what is known so far, for the row of a run that crashes
    tf = _import_tensorflow(found)
    _write(result, found)
    from . import _parity_train

    try:
        trained = _parity_train.train(experiment, api, tf)
    except ArgumentError as error:
        raise ArgumentError("experiment {}: {}".format(path, error)) from error
    found.update(status="ran", reason=None, losses=[float(loss) for loss in trained.losses], verify=trained.moved)
    ordinals = {"#{}".format(row.ordinal): row.address for row in trained.rows if row.ordinal is not None}
    used = {rule.address for rule in experiment.spec.rules if isinstance(rule.address, str)}
    found["ordinals"] = {ordinal: address for ordinal, address in ordinals.items() if ordinal in used}
    found["weights"], arrays = [], {}
    for k, (row, initial, final) in enumerate(zip(trained.rows, trained.initial, trained.final)):
        mask = trained.masks.get(row.address, np.zeros(initial.shape, bool))
        moved = different_bits(initial, final)
        found["weights"].append(
            {
                "address": row.address,
                "name": row.name,
                "shape": list(row.shape),
                "dtype": row.dtype,
                "trainable": row.trainable,
                "frozen": int(mask.sum()),
                "frozen_moved": int((moved & mask).sum()),
                "free": int((~mask).sum()),
                "free_moved": int((moved & ~mask).sum()),
            }
        )
        arrays.update({"mask_{}".format(k): mask, "final_{}".format(k): final})
    np.savez(result + ".npz", **arrays)
