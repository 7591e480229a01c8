"""Files of Keras: .h5 in its older and its newer format, and .keras; read with h5py, without TensorFlow."""

import json
import os
import zipfile
from typing import Any, Dict, Iterator, Optional

import numpy as np

from ..exceptions import ArgumentError
from . import hdf5, keras_groups, keras_names
from .archive import member
from .base import ModelFile, reading
from .stand_ins import StandIn, rows

_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"


def open_h5(path: str) -> ModelFile:
    """Read the weights that model.save or save_weights has written.

    Raises:
        ArgumentError: there is no such file, or it is broken, or Keras has not written it.
        MissingDependency: h5py is not installed.
    """
    with reading(path):
        return _model_file(path, path, None)


def open_keras(path: str) -> ModelFile:
    """Read the weights and the config in a .keras archive, or in a folder of the same contents.

    Raises:
        ArgumentError: there is none, or it is broken.
        MissingDependency: h5py is not installed.
    """
    with reading(path):
        if os.path.isdir(path):
            with open(os.path.join(path, _CONFIG), encoding="utf-8") as file:
                config = json.load(file)
            return _model_file(path, os.path.join(path, _WEIGHTS), config)
        with zipfile.ZipFile(path) as archive:
            missing = {_CONFIG, _WEIGHTS} - set(archive.namelist())
            if missing:
                raise ArgumentError("it holds no {}".format(" and no ".join(sorted(missing))))
            config = json.loads(archive.read(_CONFIG).decode("utf-8"))
            return _model_file(path, member(archive, _WEIGHTS), config)


def is_keras_folder(path: str) -> bool:
    """True for a folder that holds what a .keras archive does."""
    return all(os.path.isfile(os.path.join(path, name)) for name in (_CONFIG, _WEIGHTS))


def _model_file(path: str, source: Any, config: Optional[Dict[str, Any]]) -> ModelFile:
    """The weights in an HDF5 file, which is a path or a file object."""
    # Opened for each weight: one of a Python file that is open still when the interpreter ends crashes it.
    with hdf5.open_file(source) as file:
        found, places = rows(_tree(file, config))

    def blocks(address: str) -> Iterator[np.ndarray]:
        with hdf5.open_file(source) as file:
            yield from hdf5.blocks(file[places[address]])

    return ModelFile(path, found, blocks)


def _tree(file: Any, config: Optional[Dict[str, Any]]) -> StandIn:
    if "model_weights" in file or any(name.startswith("layer_names") for name in file.attrs):
        if config is None and "model_config" in file.attrs:
            config = json.loads(hdf5.text(file.attrs["model_config"]))
        return keras_names.tree(file["model_weights"] if "model_weights" in file else file, config)
    if "vars" in file or "layers" in file or any("vars" in file[name] for name in file):
        return keras_groups.tree(file, config)
    raise ArgumentError("it holds no weights as Keras writes them")
