"""The environments of a tox project, by name."""

import configparser
import itertools
import os
import re
import sys
from typing import List, Optional, Tuple


class ToxProject:
    """The project whose tox.ini or .tox is nearest, from a folder upwards.

    Attributes:
        folder: where its tox.ini or .tox is.
        work_folder: where its environments are.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.work_folder = os.environ.get("TOX_WORK_DIR") or os.path.join(folder, ".tox")

    @classmethod
    def nearest(cls, start: str) -> Optional["ToxProject"]:
        """The project around a folder, None where there is none."""
        folder = os.path.abspath(start)
        while True:
            if os.path.isfile(os.path.join(folder, "tox.ini")) or os.path.isdir(os.path.join(folder, ".tox")):
                return cls(folder)
            parent = os.path.dirname(folder)
            if parent == folder:
                return None
            folder = parent

    def python(self, name: str) -> Optional[str]:
        """The interpreter of an environment, None where it is not made."""
        return python_of_environment(os.path.join(self.work_folder, name))

    def made(self) -> List[str]:
        """The environments that are there."""
        names = os.listdir(self.work_folder) if os.path.isdir(self.work_folder) else []
        return sorted(name for name in names if not name.startswith(".") and self.python(name))

    def named(self) -> List[str]:
        """The environments that tox.ini names."""
        config = configparser.RawConfigParser(strict=False)
        try:
            config.read(os.path.join(self.folder, "tox.ini"), encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):  # tox itself will say so
            return []
        names = [section[len("testenv:") :] for section in config.sections() if section.startswith("testenv:")]
        for option in ("env_list", "envlist"):
            names.extend(expand(config.get("tox", option, fallback="")))
        return names


def python_of_environment(folder: str) -> Optional[str]:
    """The interpreter of a virtual environment, None where the folder has none."""
    places: Tuple[str, ...] = ("bin/python", "bin/python3", "python")
    if sys.platform == "win32":
        places = ("Scripts/python.exe", "python.exe")
    for place in places:
        path = os.path.join(folder, *place.split("/"))
        if os.path.isfile(path):
            return path
    return None


def expand(names: str) -> List[str]:
    """The names of an `env_list`, with tox's braces.

    Example:
        >>> expand("core, py{37,311}-tf{1,2}")
        ['core', 'py37-tf1', 'py37-tf2', 'py311-tf1', 'py311-tf2']
    """
    names = re.sub("#.*", "", names)
    found = []
    for name in filter(None, re.split(r"[\s,]+(?![^{]*\})", names.strip())):
        parts = [re.split(r"\s*,\s*", part.strip()) for part in re.split(r"[{}]", name)]
        found.extend("".join(choice) for choice in itertools.product(*parts))
    return found
