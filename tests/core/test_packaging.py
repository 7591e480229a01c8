"""What is installed: the wheel, its metadata, and the matrix that the doctor and tox agree on."""

import configparser
import os
import re
import subprocess
import sys

import pytest

import freezecompat
from freezecompat import cli

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
UNDER_TOX = pytest.mark.skipif(os.environ.get("FREEZECOMPAT_TOX") != "1", reason="tox tests the wheel")


def distribution():
    try:
        from importlib.metadata import distribution
    except ImportError:  # Python 3.7
        from importlib_metadata import distribution
    return distribution("freezecompat")


@UNDER_TOX
def test_the_wheel_is_tested():
    """Under tox the package comes from site-packages, in child processes too."""
    assert "site-packages" in freezecompat.__file__.split(os.sep)
    child = subprocess.check_output([sys.executable, "-c", "import freezecompat; print(freezecompat.__file__)"])
    assert child.decode().strip() == freezecompat.__file__


@UNDER_TOX
def test_numpy_is_the_only_requirement():
    """Everything else is an extra."""
    requirements = [re.split(r"[ ;<>=!(]", line)[0] for line in distribution().requires if "extra ==" not in line]
    assert requirements == ["numpy"]
    extras = set(distribution().metadata.get_all("Provides-Extra"))
    assert extras == {"tensorflow", "cpu", "cli", "plot", "files", "test", "all"}


@UNDER_TOX
def test_metadata():
    """Version, Python floor and license are those of the project."""
    metadata = distribution().metadata
    assert metadata["Version"] == freezecompat.__version__
    assert metadata["Requires-Python"] == ">=3.7"
    assert "LICENSE" in str(list(distribution().files))


@UNDER_TOX
def test_console_script():
    """The command is installed beside the interpreter."""
    script = os.path.join(os.path.dirname(sys.executable), "freezecompat")
    assert subprocess.check_output([script, "--version"]).decode().split() == ["freezecompat", freezecompat.__version__]


def test_typed():
    """Type checkers read the annotations."""
    assert os.path.exists(os.path.join(os.path.dirname(freezecompat.__file__), "py.typed"))


def test_built_in_experiments_are_packaged():
    """The files that `parity problem-1` runs are there."""
    folder = os.path.join(os.path.dirname(freezecompat.__file__), "experiments")
    assert {"problem_1.py", "problem_2.py"} <= set(os.listdir(folder))


def test_doctor_and_tox_agree():
    """The versions that the doctor calls tested are those that tox pins."""
    config = configparser.RawConfigParser()
    config.read(os.path.join(ROOT, "tox.ini"))
    pins = dict(re.findall(r"^(tf\d+): tensorflow(?:-cpu)?==(\S+)$", config["testenv"]["deps"], re.M))
    listed = set(re.findall(r"py(\d)(\d+)-(tf\d+)", config["tox"]["env_list"]))
    assert {("{}.{}".format(*env[:2]), pins[env[2]]) for env in listed} == set(cli.TESTED)
    assert set(pins.values()) == {version for _, version in cli.TESTED + cli.SMOKE_TESTED}
