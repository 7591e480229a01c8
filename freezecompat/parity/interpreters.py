"""Find Python interpreters: by path, by the folder of a virtual environment, by a tox environment's name, on PATH."""

import difflib
import json
import os
import shutil
import sys
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ..exceptions import ArgumentError
from .processes import Command, Ended, side_by_side
from .tox_environments import ToxProject, python_of_environment

_OLDEST = (3, 7)
_SECONDS = 60.0  # for an interpreter to say what it is

# Python 2 can run it too.
_PROBE = """
import json, sys
print("freezecompat:" + json.dumps([sys.executable, sys.prefix, list(sys.version_info[:3])]))
"""


class Interpreter(NamedTuple):
    """A Python that works.

    Attributes:
        given: how it was asked for; "this one" for the present interpreter.
        executable: its path.
        python: its version.
        present: it is the one that runs this.
    """

    given: str
    executable: str
    python: str
    present: bool

    def environment(self) -> Dict[str, str]:
        """The variables for its processes: those of this one, without what tells Python where its own library is."""
        variables = dict(os.environ)
        if not self.present:
            for name in ("PYTHONHOME", "__PYVENV_LAUNCHER__"):
                variables.pop(name, None)
        return variables


def present() -> Interpreter:
    """The interpreter that runs this."""
    return Interpreter("this one", sys.executable, ".".join(map(str, sys.version_info[:3])), True)


def find(pythons: Sequence[str]) -> List[Interpreter]:
    """The present interpreter and the given ones, each once.

    Args:
        pythons: paths of interpreters, folders of virtual environments, names of tox environments or of commands.

    Raises:
        ArgumentError: one is not there, is no Python, or is too old.
    """
    here = present()
    if not pythons:
        return [here]
    candidates = [Interpreter(given, resolve(given), "", False) for given in pythons]
    found, seen = [here], {_identity(sys.prefix, sys.executable)}
    for candidate, answer in zip(candidates, _ask(candidates)):
        executable, prefix, version = answer
        if tuple(version[:2]) < _OLDEST:
            raise ArgumentError(
                "{} is Python {}.{}.{}: parity needs {}.{} or newer".format(
                    _described(candidate), *(version + list(_OLDEST))
                )
            )
        identity = _identity(prefix, executable)
        if identity not in seen:
            seen.add(identity)
            found.append(candidate._replace(python=".".join(map(str, version))))
    return found


def resolve(given: str) -> str:
    """The path of an interpreter.

    Example:
        >>> resolve(sys.executable) == sys.executable
        True

    Raises:
        ArgumentError: nothing of that name is there.
    """
    path = os.path.expanduser(given)
    if os.path.isfile(path):
        return os.path.abspath(path)
    is_name = bool(given) and not os.path.dirname(given) and given not in (os.curdir, os.pardir)
    if os.path.isdir(path):
        python = python_of_environment(os.path.abspath(path))
        if python is not None:
            return python
        if not is_name:
            raise ArgumentError("the folder {} is no virtual environment: it has no bin/python".format(given))
    if not is_name:
        raise ArgumentError(
            "there is no Python interpreter {!r}: give its path, the folder of a virtual environment, or the name of a "
            "tox environment".format(given)
        )
    return _by_name(given)


def _by_name(name: str) -> str:
    project = ToxProject.nearest(os.getcwd())
    python = project.python(name) if project is not None else None
    if python is None and not (project is not None and name in project.named()):
        python = shutil.which(name)
    if python is not None:
        return os.path.abspath(python)
    if project is not None and name in project.named():
        raise ArgumentError(
            'the tox environment {} is not made yet: run "tox run -e {} --notest" first'.format(name, name)
        )
    raise ArgumentError(
        "there is no tox environment and no command {!r}{}".format(name, _hint(name, project.made() if project else []))
    )


def _hint(name: str, environments: List[str]) -> str:
    if not environments:
        return ": no tox environment is made here, give the path of an interpreter or of a virtual environment"
    close = difflib.get_close_matches(name, environments, 3, 0.4)
    if close:
        return ". Did you mean {}?".format(" or ".join(map(repr, close)))
    return ". Tox environments: {}".format(", ".join(environments))


def _ask(candidates: Sequence[Interpreter]) -> List[Any]:
    """What each says of itself: executable, prefix, version."""
    answers: List[Any] = [None] * len(candidates)
    with tempfile.TemporaryDirectory() as folder:
        logs = [os.path.join(folder, str(number)) for number in range(len(candidates))]

        def ended(number: int, end: Ended) -> None:
            answers[number] = _answer(logs[number])
            if end.fault is not None or answers[number] is None:
                raise ArgumentError(
                    "{} is no Python interpreter that works: {}".format(
                        _described(candidates[number]), end.fault or "it did not run a line of Python"
                    )
                )

        commands = [
            Command([candidate.executable, "-c", _PROBE], candidate.environment(), log)
            for candidate, log in zip(candidates, logs)
        ]
        side_by_side(commands, ended, timeout=_SECONDS)
    return answers


def _answer(log: str) -> Optional[List[Any]]:
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("freezecompat:"):
                try:
                    return list(json.loads(line[len("freezecompat:") :]))
                except ValueError:
                    return None
    return None


def _identity(prefix: str, executable: str) -> Any:
    return os.path.realpath(prefix), os.path.realpath(executable)


def _described(candidate: Interpreter) -> str:
    if os.path.abspath(candidate.given) == candidate.executable:
        return candidate.executable
    return "{} ({})".format(candidate.given, candidate.executable)
