"""Which interpreter a path or a name means."""

import os
import sys

import pytest

from freezecompat.exceptions import ArgumentError
from freezecompat.parity.interpreters import find, resolve
from freezecompat.parity.tox_environments import ToxProject

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts stand for interpreters")


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def says(executable, prefix="/prefix", version=(3, 8, 1)):
    """A script that answers like an interpreter."""
    return 'echo \'freezecompat:["{}", "{}", {}]\''.format(executable, prefix, list(version))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A tox project with one environment made, seen from a folder inside."""
    monkeypatch.delenv("TOX_WORK_DIR", raising=False)
    (tmp_path / "tox.ini").write_text("[tox]\nenv_list = py{37,311}-tf, docs\n[testenv:lint]\n")
    script(tmp_path / ".tox" / "py37-tf" / "bin" / "python", says("py37"))
    (tmp_path / "inside" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "inside" / "deep")
    return tmp_path


def test_path_of_an_interpreter(tmp_path):
    """A file is that interpreter, a folder its bin/python."""
    path = script(tmp_path / "venv" / "bin" / "python", "")
    assert resolve(path) == path
    assert resolve(str(tmp_path / "venv")) == path


def test_relative_paths(tmp_path, monkeypatch):
    """Paths count from the working folder, a name of a folder there too."""
    path = script(tmp_path / "venv" / "bin" / "python", "")
    monkeypatch.chdir(tmp_path)
    assert resolve("venv") == resolve("./venv") == resolve("venv/bin/python") == path


def test_tox_environment(project):
    """The nearest tox project upwards has it."""
    assert resolve("py37-tf") == str(project / ".tox" / "py37-tf" / "bin" / "python")


def test_tox_work_folder(project, monkeypatch, tmp_path):
    """Where TOX_WORK_DIR says that environments are."""
    path = script(tmp_path / "elsewhere" / "docs" / "bin" / "python", "")
    monkeypatch.setenv("TOX_WORK_DIR", str(tmp_path / "elsewhere"))
    assert resolve("docs") == path


def test_command(project, monkeypatch):
    """What is no tox environment is looked for on PATH."""
    path = script(project / "commands" / "python9.9", "")
    monkeypatch.setenv("PATH", str(project / "commands"))
    assert resolve("python9.9") == path


def test_names_in_tox_ini(project):
    """Environments of env_list, with braces, and of sections."""
    assert ToxProject.nearest(os.getcwd()).named() == ["lint", "py37-tf", "py311-tf", "docs"]


@pytest.mark.parametrize(
    "given, text",
    [
        pytest.param("no/such/python", "there is no Python interpreter 'no/such/python': give its path", id="path"),
        pytest.param("", "there is no Python interpreter ''", id="empty"),
        pytest.param("..", r"the folder \.\. is no virtual environment: it has no bin/python", id="folder"),
        pytest.param(
            "py311-tf", 'py311-tf is not made yet: run "tox run -e py311-tf --notest" first', id="tox-not-made"
        ),
        pytest.param("py37tf", "no tox environment and no command 'py37tf'. Did you mean 'py37-tf'", id="close"),
        pytest.param("xxxxx", "no tox environment and no command 'xxxxx'. Tox environments: py37-tf", id="name"),
    ],
)
def test_not_there(project, given, text):
    """What is not there is one line with a hint."""
    with pytest.raises(ArgumentError, match=text) as caught:
        resolve(given)
    assert "\n" not in str(caught.value)


def test_no_tox_at_all(tmp_path, monkeypatch):
    """Where no tox project is around, the hint is to give a path."""
    monkeypatch.setattr(ToxProject, "nearest", classmethod(lambda cls, start: None))
    with pytest.raises(ArgumentError, match="no tox environment is made here, give the path"):
        resolve("py37-tf")


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param("exit 3", "is no Python interpreter that works: it ended with exit code 3", id="fails"),
        pytest.param("true", "works: it did not run a line of Python", id="silent"),
        pytest.param(says("x", version=(3, 6, 9)), r"is Python 3\.6\.9: parity needs 3\.7 or newer", id="too-old"),
        pytest.param(says("x", version=(2, 7, 18)), r"is Python 2\.7\.18: parity needs 3\.7 or newer", id="python-2"),
    ],
)
def test_no_python(tmp_path, text, reason):
    """A file that is no Python of ours is refused before anything is trained."""
    with pytest.raises(ArgumentError, match=reason):
        find([script(tmp_path / "python", text)])


def test_not_executable(tmp_path):
    """A file that can't be started says why."""
    path = tmp_path / "python"
    path.write_text("")
    with pytest.raises(ArgumentError, match="no Python interpreter that works: it can't be started: Permission denied"):
        find([str(path)])


def test_present_one_comes_first_and_each_once(tmp_path):
    """Two names of one environment are one interpreter; the present one is not run again."""
    first = script(tmp_path / "a" / "python", says("/a/python", "/a"))
    second = script(tmp_path / "b" / "python", says("/a/python", "/a"))
    third = script(tmp_path / "c" / "python", says("/a/python", "/c", (3, 12, 0)))
    found = find([first, second, sys.executable, third])
    assert [(one.given, one.python, one.present) for one in found[1:]] == [
        (first, "3.8.1", False),
        (third, "3.12.0", False),
    ]
    assert found[0].executable == sys.executable and found[0].present


def test_variables_of_this_python_are_not_for_others(monkeypatch, tmp_path):
    """PYTHONHOME would give another interpreter the library of this one."""
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    path = script(tmp_path / "python", 'test -z "$PYTHONHOME" || exit 9\n' + says("/x"))
    assert find([path])[1].environment().get("PYTHONHOME") is None
