"""What a child process of `freezecompat parity` and `doctor` executes: one run, written to files.

child.main(["train", RESULT, API, EXPERIMENT])      RESULT.json, and RESULT.npz with the weights
child.main(["doctor", RESULT])                      RESULT.json
"""

import json
import os
import platform
import sys
import traceback
from typing import Any, Dict, List

import numpy as np

from .._bits import different_bits
from ..api import detect_backend
from ..exceptions import ArgumentError, MissingDependency
from . import experiment as experiments
from . import train
from .apis import APIS
from .optimizers import Unavailable


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
            traceback.print_exc()
    _write(result, found)


def _platform() -> Dict[str, Any]:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tensorflow": None,
        "keras": None,
    }


def _write(result: str, found: Dict[str, Any]) -> None:
    with open(result + ".part", "w") as file:
        json.dump(found, file)
    os.replace(result + ".part", result + ".json")  # a child may be stopped at any time


def _import_tensorflow(found: Dict[str, Any]) -> Any:
    try:
        import tensorflow
    except ImportError as error:
        if getattr(error, "name", None) != "tensorflow":
            raise
        traceback.print_exc()
        raise MissingDependency("no TensorFlow is installed for {}".format(sys.executable)) from None
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
    found["status"] = "found"
    try:
        tf = _import_tensorflow(found)
    except MissingDependency:
        return
    found["tf_keras"] = _version_of("tf_keras")
    found["apis"] = {api: train.why_not(api, tf) for api in APIS}
    found["backend"] = detect_backend()._asdict()


def _version_of(name: str) -> Any:
    try:
        return __import__(name).__version__
    except ImportError:
        return None


def _run(found: Dict[str, Any], result: str, api: str, path: str) -> None:
    experiment = experiments.load(path)
    found["experiment"] = {
        "title": experiment.title,
        "optimizer": experiments.options_text(experiment.optimizer),
        "loss": experiments.loss_text(experiment.loss),
        "steps": experiment.steps,
        "batch_size": experiment.batch_size,
        "tolerance_ulp": experiment.tolerance_ulp,
    }
    _write(result, found)  # what is known so far, for the row of a run that crashes
    tf = _import_tensorflow(found)
    _write(result, found)

    def begun() -> None:
        open(result + ".begun", "w").close()

    try:
        trained = train.train(experiment, api, tf, begun)
    except ArgumentError as error:
        raise ArgumentError("experiment {}: {}".format(path, error)) from error
    found.update(status="ran", reason=None, losses=[float(loss) for loss in trained.losses], verify=trained.moved)
    ordinals = {"#{}".format(row.ordinal): row.address for row in trained.rows if row.ordinal is not None}
    used = {rule.address for rule in experiment.spec.every_rule() if isinstance(rule.address, str)}
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
        arrays.update({"mask_{}".format(k): mask, "initial_{}".format(k): initial, "final_{}".format(k): final})
    np.savez(result + ".npz", **arrays)
