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
    assert {row["part"] for row in rows} == {"masks"}
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


def test_alternation_compares_each_with_the_first(monkeypatch):
    """The median of ratios, each of one round, and the middle half of them; what is prepared is not timed."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import figures

    clock = [0.0]
    monkeypatch.setattr(figures.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(figures.time, "process_time", lambda: clock[0])

    def takes(seconds):
        seconds = iter(seconds)
        return lambda *given: clock.__setitem__(0, clock[0] + next(seconds))

    running = {"plain": takes([9, 1, 2, 4, 1, 1]), "frozen": takes([9, 2, 3, 4, 5, 1])}
    found = figures.alternate(running, 5, prepare={"frozen": takes([7] * 6)}, warm_up=1)
    assert (found["plain"]["figure"], found["plain"]["spread"]) == (1, (1, 1))
    assert (found["frozen"]["figure"], found["frozen"]["spread"], found["frozen"]["cpu"]) == (1.5, (1, 2), 1.5)
    assert found["frozen"]["milliseconds"] == 3000
