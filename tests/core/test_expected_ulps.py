"""What continuous integration keeps of a parity result: a change of any bit is seen."""

import copy
import json
import os
import struct
import subprocess
import sys

import pytest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
SCRIPT = os.path.join(ROOT, ".ci", "expected_ulps.py")

RESULT = {
    "runs": [
        {
            "tensorflow": "1.15.5",
            "api": "tf1-graph",
            "status": "ran",
            "weights": [{"address": "k", "bits": ["3f800000"]}],
        },
        {
            "tensorflow": "2.15.1",
            "api": "keras-fit",
            "status": "ran",
            "weights": [{"address": "k", "bits": ["3f800001"]}],
        },
        {"tensorflow": "2.15.1", "api": "keras-loop", "status": "unavailable"},
    ],
    "pairs": [{"first": 0, "second": 1, "weights": [{"address": "k", "max_ulp": 1, "element": [0]}]}],
}


@pytest.fixture
def compare(tmp_path):
    """Keeps RESULT, and compares another one with it."""

    def compare(result, processor=None):
        paths = [tmp_path / "result.json", tmp_path / "kept" / "problem.json"]
        paths[0].write_text(json.dumps(RESULT))
        assert call(paths, "--write") == (0, "")
        if processor is not None:
            kept = json.loads(paths[1].read_text())
            kept["processor"] = processor
            paths[1].write_text(json.dumps(kept))
        paths[0].write_text(json.dumps(result))
        return call(paths)

    def call(paths, *options):
        command = [sys.executable, SCRIPT] + list(map(str, paths)) + list(options)
        done = subprocess.run(command, stdout=subprocess.PIPE)
        return done.returncode, done.stdout.decode()

    return compare


def changed(**weight):
    result = copy.deepcopy(RESULT)
    for name, value in weight.items():
        row = result["runs"][1] if name == "bits" else result["pairs"][0]
        row["weights"][0][name] = value
    return result


def test_the_same(compare):
    """What is as kept passes."""
    code, out = compare(RESULT)
    assert code == 0 and out.endswith("every ULP and every bit as kept\n")


@pytest.mark.parametrize(
    "result, line",
    [
        pytest.param(
            changed(max_ulp=2), "1.15.5 tf1-graph : 2.15.1 keras-fit, k: 2 at [0], kept 1 at [0]", id="distance"
        ),
        pytest.param(changed(max_ulp=0), "1.15.5 tf1-graph : 2.15.1 keras-fit, k: 0, kept 1 at [0]", id="no-distance"),
        pytest.param(
            changed(element=[1]), "1.15.5 tf1-graph : 2.15.1 keras-fit, k: 1 at [1], kept 1 at [0]", id="place"
        ),
        pytest.param(changed(bits=["3f800002"]), "2.15.1 keras-fit, k: 3f800002, kept 3f800001", id="bit"),
        pytest.param(dict(RESULT, runs=RESULT["runs"][:2]), "2.15.1 keras-loop: nothing, kept unavailable", id="run"),
    ],
)
@pytest.mark.skipif(not os.path.exists("/proc/cpuinfo"), reason="knows the processor from /proc/cpuinfo")
def test_a_change_is_seen(compare, result, line):
    """On the same kind of processor it fails; on another it is shown, and the tolerance decides."""
    code, out = compare(result)
    assert (code, out.splitlines()) == (1, [line])
    code, out = compare(result, processor=["another"])
    assert code == 0 and out.splitlines()[0] == line and out.splitlines()[1].startswith("note: this processor has ")


def test_no_result(tmp_path):
    """Parity that made no result fails."""
    command = [sys.executable, SCRIPT, str(tmp_path / "none"), str(tmp_path / "none")]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 1


@pytest.mark.parametrize("name", ["problem-1", "problem-2"])
def test_kept(name):
    """Both problems are kept, over three TensorFlows and four APIs, every frozen bit as it began."""
    with open(os.path.join(ROOT, ".ci", "expected", name + ".json")) as file:
        kept = json.load(file)
    assert len(kept["bits"]) == 12 and len(kept["ulps"]) == 66
    address, held = {
        "problem-1": ("first/kernel", {0: 0.0}),
        "problem-2": ("hidden/kernel", {5: 0.14362943, 10: -0.23868048}),
    }[name]
    for weights in kept["bits"].values():
        bits = weights[address].split()
        assert {k: bits[k] for k in held} == {k: struct.pack(">f", value).hex() for k, value in held.items()}
