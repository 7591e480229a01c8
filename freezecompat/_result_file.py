"""Write a result as a JSON file, which is there as a whole or not at all."""

import json
import os
from typing import Any, Dict

from ._replace import replacing
from .exceptions import ArgumentError


def check_writable(path: str) -> None:
    """Before a long training, and not after it.

    Raises:
        ArgumentError: no file can be written there.
    """
    folder = os.path.dirname(os.path.realpath(path))
    reason = None
    if os.path.isdir(path):
        reason = "it is a folder"
    elif not os.path.isdir(folder):
        reason = "no such folder"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        reason = "no permission"
    if reason is not None:
        raise ArgumentError("can't write {}: {}".format(path, reason))


def write(path: str, result: Dict[str, Any]) -> None:
    """Write the file, in the place of one that is there already.

    Raises:
        ArgumentError: it can't be written; what was there before is still there.
    """
    try:
        with replacing(path) as file:
            file.write(json.dumps(result, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise ArgumentError("can't write {}: {}".format(path, error.strerror)) from error
