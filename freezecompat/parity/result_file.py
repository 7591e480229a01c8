"""Write a result as a JSON file, which is there as a whole or not at all."""

import json
import os
from typing import Any, Dict

from ..exceptions import ArgumentError


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
    text = json.dumps(result, indent=1, allow_nan=False) + "\n"
    target = os.path.realpath(path)
    part = "{}.{}.part".format(target, os.getpid())
    if os.path.exists(target) and not os.path.isfile(target):
        part = target  # a device or a pipe, such as /dev/stdout
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        if part != target:
            os.replace(part, target)
    except OSError as error:
        if part != target and os.path.exists(part):
            os.remove(part)
        raise ArgumentError("can't write {}: {}".format(path, error.strerror)) from error
