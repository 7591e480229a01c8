"""The benchmarks run, on little data."""

import json
import os
import subprocess
import sys

BENCHMARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "benchmarks")


def test_build_masks(tmp_path):
    """A row for each spec; positions and slices take no mask. Times of so little data say nothing."""
    command = [sys.executable, os.path.join(BENCHMARKS, "build_masks.py"), "--elements", "4000000", "--repeat", "1"]
    done = subprocess.run(command + ["--json", str(tmp_path / "rows.json")], stdout=subprocess.PIPE)
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    memory = {row["spec"]: row["bytes_per_element"] for row in rows}
    assert len(rows) == len(done.stdout.decode().splitlines()) - 1 == 13
    for spec in ("elements", "slice", "rows([...])", "units([...])", '"all"'):
        assert memory.pop(spec) < 0.1
    assert all(0.9 < taken < 5 for taken in memory.values()), memory


def test_verify_files(tmp_path):
    """A row for each format and spec, with the right answers, in memory that does not grow with the files."""
    command = [sys.executable, os.path.join(BENCHMARKS, "verify_files.py"), "--megabytes", "48", "--formats", ".npz"]
    done = subprocess.run(command + ["--json", str(tmp_path / "rows.json")], stdout=subprocess.PIPE)
    assert done.returncode == 0
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [(row["format"], row["spec"], row["megabytes"], row["right"]) for row in rows] == [
        (".npz", "few", 48, True),
        (".npz", "half", 48, True),
        (".npz", "all", 48, True),
    ]
    assert len(done.stdout.decode().splitlines()) == 4
