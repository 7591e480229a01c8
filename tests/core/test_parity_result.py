"""The result as a file: it is what the schema says, and is there as a whole or not at all."""

import errno
import json
import os

import jsonschema
import pytest

from freezecompat.exceptions import ArgumentError
from freezecompat import _result_file

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, os.pardir, os.pardir, "docs", "parity.schema.json")


@pytest.fixture
def schema():
    with open(SCHEMA) as file:
        return json.load(file)


def a_run(**changes):
    run = {
        "interpreter": "/usr/bin/python3",
        "api": "tf1-eager",
        "status": "failed",
        "reason": "it ended with exit code 1",
        "log": ["MemoryError"],
        "log_file": None,
        "seconds": 0.5,
        "python": "3.11.7",
        "numpy": None,
        "tensorflow": None,
        "keras": None,
    }
    run.update(changes)
    return run


def a_result(*runs, **changes):
    about = dict(name="x.py", path="/x.py", title="x", optimizer=None, loss=None, steps=None, batch_size=None)
    result = {
        "freezecompat": 1,
        "experiment": dict(about, tolerance_ulp=0),
        "interpreters": [dict(given="this one", executable="/usr/bin/python3", python="3.11.7", present=True)],
        "runs": list(runs) or [a_run()],
        "pairs": [],
        "passed": False,
    }
    result.update(changes)
    return result


def test_schema_is_one(schema):
    """It is a schema itself, and takes a result in which nothing ran."""
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(a_result(), schema)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(a_result(a_run(status="broken")), id="status"),
        pytest.param(a_result(a_run(status="ran", reason=None)), id="ran-without-weights"),
        pytest.param(a_result(a_run(reason=None)), id="no-reason"),
        pytest.param(a_result(more=1), id="unknown-key"),
        pytest.param(a_result(freezecompat=2), id="version"),
    ],
)
def test_schema_refuses(schema, result):
    """What is no result is none by the schema either."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(result, schema)


def test_written(tmp_path):
    """The file is the result, and nothing else is left in the folder."""
    path = tmp_path / "result.json"
    path.write_text("older")
    _result_file.write(str(path), a_result())
    assert json.loads(path.read_text()) == a_result()
    assert os.listdir(str(tmp_path)) == ["result.json"]


def test_what_was_there_stays(tmp_path, monkeypatch):
    """A result that can't be written leaves the older file as it is."""

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "result.json"
    path.write_text("older")
    with pytest.raises(ValueError):
        _result_file.write(str(path), a_result(seconds=float("nan")))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ArgumentError, match="can't write .*result.json: No space left on device"):
        _result_file.write(str(path), a_result())
    assert path.read_text() == "older" and os.listdir(str(tmp_path)) == ["result.json"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="symbolic links")
def test_link(tmp_path):
    """A symbolic link stays one."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    _result_file.write(str(tmp_path / "link"), a_result())
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "target").read_text()) == a_result()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="devices")
def test_device():
    """A device is written to, not replaced."""
    _result_file.check_writable("/dev/null")
    _result_file.write("/dev/null", a_result())
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("path, reason", [("no/such/x.json", "no such folder"), (".", "it is a folder")])
def test_not_writable(path, reason):
    """What can't be written is found before the training."""
    with pytest.raises(ArgumentError, match=reason):
        _result_file.check_writable(path)
