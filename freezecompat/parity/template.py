"""The experiment to start one's own from."""

import os
import shutil

from ..exceptions import ArgumentError
from .experiment import BUILT_IN_FOLDER


def write(path: str) -> str:
    """Write the template, which is an experiment that runs.

    Args:
        path: a file that is not there yet; its name ends in .py.

    Returns:
        The path.

    Raises:
        ArgumentError: it is there already, or can't be written.
    """
    if not path.endswith(".py"):
        raise ArgumentError("an experiment is a Python file: {!r} must end in .py".format(path))
    try:
        with open(os.path.join(BUILT_IN_FOLDER, "template.py"), "rb") as source, open(path, "xb") as file:
            shutil.copyfileobj(source, file)
    except FileExistsError:
        raise ArgumentError("{} is there already: give a new name".format(path)) from None
    except OSError as error:
        raise ArgumentError("can't write {}: {}".format(path, error.strerror)) from error
    return path
