"""Weights in files of models, read by block, without the model: what `freezecompat list`, `masks` and `verify` see."""

import os

from ..exceptions import ArgumentError
from .base import ModelFile
from .of_numpy import open_npy, open_npz

__all__ = ["ModelFile", "open_model"]

_FORMATS = {".npz": open_npz, ".npy": open_npy}


def open_model(path: str) -> ModelFile:
    """Read which weights a file holds, and none of their values yet.

    Args:
        path: an .npz archive, whose names are the addresses, or an .npy file, whose own name is the address.

    Returns:
        The weights.

    Raises:
        ArgumentError: there is no such file, it is broken, or of another format.

    Example:
        >>> open_model("model.pb")
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.ArgumentError: can't read model.pb: its name ends in none of .npz, .npy
    """
    reader = _FORMATS.get(os.path.splitext(path)[1].lower())
    if reader is None:
        raise ArgumentError("can't read {}: its name ends in none of {}".format(path, ", ".join(_FORMATS)))
    return reader(path)
