"""Files that are JSON or YAML, by the end of their names: what spec and schedule files have in common."""

import json
import os
from contextlib import contextmanager
from typing import Any, Callable, Iterator, TypeVar, Union

from ._json_text import read_json
from ._replace import replacing
from ._show import show
from ._yaml_text import is_yaml, read_yaml, write_yaml
from .exceptions import FreezeCompatError, SpecValueError

Path = Union[str, "os.PathLike[str]"]
_T = TypeVar("_T")


def read_file(path: Path, make: Callable[[Any, str], _T]) -> _T:
    """Read a file, and name it in the text of every error.

    Args:
        path: the file; YAML if its name ends in .yaml or .yml, else JSON.
        make: function of what was read, and of the file's folder.

    Returns:
        What `make` gives.
    """
    path = os.fspath(path)
    with open(path, encoding="utf-8-sig") as file, naming("{}: ".format(path)):
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise SpecValueError("this is not UTF-8 text: {}".format(error)) from error
        read = read_yaml(text) if is_yaml(path) else read_json(text)
        return make(read, os.path.dirname(os.path.abspath(path)))


def write_file(path: Path, json_text: str) -> None:
    """Write JSON text, as YAML where the name says so; a failure leaves what was there."""
    text = write_yaml(json.loads(json_text)) if is_yaml(os.fspath(path)) else json_text
    with replacing(path) as file:
        file.write(text)


def check_version(version: Any, known: int) -> None:
    """Raise where a file is of another version than the one that is known.

    Example:
        >>> check_version(2, 1)
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: the file has version 2, this freezecompat reads version 1; a newer one may \
read it
    """
    if type(version) is not int or version != known:
        raise SpecValueError(
            "the file has version {}, this freezecompat reads version {}; a newer one may read it".format(
                show(version), known
            )
        )


@contextmanager
def naming(prefix: str) -> Iterator[None]:
    """Put a text before that of an error, whose class stays."""
    try:
        yield
    except FreezeCompatError as error:
        raise type(error)(prefix + str(error)) from error.__cause__
