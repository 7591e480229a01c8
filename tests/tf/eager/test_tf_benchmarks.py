"""The benchmarks that need TensorFlow run, on little data. Their times say nothing; what is counted does."""

import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
BENCHMARKS = os.path.join(HERE, os.pardir, os.pardir, os.pardir, "benchmarks")


def rows_of(tmp_path, script, *options):
    command = [sys.executable, os.path.join(BENCHMARKS, script), "--json", str(tmp_path / "rows.json")]
    done = subprocess.run(command + list(options), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads((tmp_path / "rows.json").read_text())["rows"]


def test_training_step(tmp_path):
    """A row for each variant; only those of freezecompat have a target."""
    rows = rows_of(tmp_path, *"training_step.py --load dense --size 20 --rounds 1 --program tf.train".split())
    assert [(row["variant"], row["target"]) for row in rows] == [
        ("plain", None),
        ("plain again", None),
        ("freezecompat, none yet", 1.05),
        ("freezecompat, 2 elements", 1.05),
        ("freezecompat, half, a slice", 1.05),
        ("freezecompat, half", 1.05),
        ("freezecompat, all but 1", 1.05),
    ]


def test_growth(tmp_path):
    """A compiled step calls no Python of ours, and has no more operations for each of ten weights than for one."""
    options = "--weights 10 --largest 1000000 --memory 0.001 --calls 20 --rounds 1 --program tf.train"
    rows = rows_of(tmp_path, "growth.py", *options.split())
    assert [row["part"].replace("growth: ", "") for row in rows] == (
        ["weights"] * 12 + ["predicate"] * 2 + ["elements"] * 12 + ["calls"] * 6 + ["size"] * 4
    )
    assert all(row["spread"][0] <= row["figure"] <= row["spread"][1] for row in rows)
    counted = {(row["case"], row["variant"]): row["figure"] for row in rows}
    assert counted["1 weights", "Python calls of ours"] == counted["10 weights", "Python calls of ours"] == 0
    assert 0 < counted["10 weights", "operations more"] <= counted["1 weights", "operations more"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults and /proc are Linux'")
def test_memory(tmp_path):
    """Frozen and plain differ by blocks of the kernel's size, however small the kernel is."""
    options = "--size 1000 --repeat 1 --program tf.train --variant".split() + ["freezecompat, half"]
    rows = rows_of(tmp_path, "memory.py", *options)
    assert [row["part"] for row in rows] == ["memory: kept", "memory: blocks", "memory: peak"]
    blocks = rows[1]
    assert 1 <= blocks["plain"] < 20 and -1 < blocks["figure"] < 5
