"""The child processes of parity: what they find, how they end, and that they leave this process alone."""

import os

import numpy as np
import pytest

import freezecompat.parity as parity
from freezecompat.exceptions import ArgumentError, MissingDependency


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """Child processes find no TensorFlow."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tensorflow'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)


def test_without_tensorflow(no_tensorflow):
    """Parity says which extra to install."""
    with pytest.raises(
        MissingDependency, match=r'no TensorFlow is installed .* pip install "freezecompat\[tensorflow\]"'
    ):
        parity.run_parity("problem-1")


def test_broken_experiment_without_tensorflow(no_tensorflow, write):
    """What is wrong with the file is found without TensorFlow."""
    with pytest.raises(ArgumentError, match="LOSS is missing"):
        parity.run_parity(write(without="LOSS"))


def test_experiment_that_ends_the_process(write):
    """A child that dies leaves the end of its log in the row."""
    path = write("import os, sys", "print('so long'); sys.stdout.flush(); os._exit(7)")
    result = parity.run_parity(path, apis=["tf1-eager"])
    assert not result["passed"]
    assert result["runs"][0]["reason"] == "it ended with exit code 7"
    assert result["runs"][0]["log"][-1] == "so long"


def test_timeout(write):
    """A run that takes too long is stopped, and is a row."""
    result = parity.run_parity(write("import time", "time.sleep(60)"), apis=["keras-fit"], timeout=2)
    assert result["runs"][0]["status"] == "timeout"
    assert result["runs"][0]["seconds"] < 30


def test_children_alone_get_variables(monkeypatch, write):
    """The process itself is left as it is; what the user has set stands."""
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    before = dict(os.environ)
    show = "print([os.environ[name] for name in ('TF_ENABLE_ONEDNN_OPTS', 'TF_CPP_MIN_LOG_LEVEL')]); sys.stdout.flush()"
    result = parity.run_parity(write("import os, sys", show, "os._exit(1)"), apis=["tf1-graph"])
    assert result["runs"][0]["log"][-1] == "['1', '2']"
    assert dict(os.environ) == before


def test_doctor_without_tensorflow(no_tensorflow):
    """The doctor has nothing to ask for."""
    found = parity.doctor()
    assert found["tensorflow"] is None and found["numpy"] == np.__version__
