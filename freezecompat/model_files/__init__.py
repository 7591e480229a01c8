"""Weights in files of models, read by block, without the model: what `freezecompat list`, `masks` and `verify` see."""

import os

from ..exceptions import ArgumentError
from .base import ModelFile
from .of_keras import is_keras_folder, open_h5, open_keras
from .of_numpy import open_npy, open_npz
from .of_tensorflow import checkpoint_prefix, open_checkpoint

__all__ = ["ModelFile", "open_model"]

_FORMATS = {".npz": open_npz, ".npy": open_npy, ".h5": open_h5, ".hdf5": open_h5, ".keras": open_keras}


def open_model(path: str) -> ModelFile:
    """Read which weights a file holds, and none of their values yet.

    Args:
        path: an .npz archive, whose names are the addresses; an .npy file, whose own name is the address; an .h5 or
            .keras file, or a folder of what a .keras file holds; the prefix or .index file of a checkpoint, or a folder
            with a `checkpoint` file, which means its latest; the folder of a SavedModel.

    Returns:
        The weights.

    Raises:
        ArgumentError: there is no such file, it is broken, or of another format.
        MissingDependency: the format needs a package that is not installed.

    Example:
        >>> open_model("model.pb")
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.ArgumentError: can't read model.pb: it is no checkpoint, and its name ends in none of \
.npz, .npy, .h5, .hdf5, .keras
    """
    if os.path.isdir(path) and is_keras_folder(path):
        return open_keras(path)
    reader = _FORMATS.get(os.path.splitext(path)[1].lower())
    if reader is not None and (os.path.isfile(path) or checkpoint_prefix(path) is None):
        return reader(path)
    if checkpoint_prefix(path) is not None:
        return open_checkpoint(path)
    if os.path.isdir(path):
        raise ArgumentError(
            "can't read {}: a folder is that of a SavedModel or of an unpacked .keras archive, or has a `checkpoint` "
            "file".format(path)
        )
    raise ArgumentError(
        "can't read {}: it is no checkpoint, and its name ends in none of {}".format(path, ", ".join(_FORMATS))
    )
