"""Training that is killed in the middle of a step or of saving, and resumed: frozen exact, and the end of the run as if it had not been."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import killed_training
import kits

# One of each mode's own kind of file is tried each time; all of them take a minute or two.
USUAL = ("keras3-keras", "tf.keras-h5", "keras3-checkpoint-manager", "tf.keras-checkpoint-manager", "monitored-session")


def pytest_generate_tests(metafunc):
    every = metafunc.config.getoption("--every-way-of-saving")
    metafunc.parametrize("way", [way for way in killed_training.ways() if every or way in USUAL])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_and_resumed(way, tmp_path):
    program = killed_training.__file__
    done = subprocess.run(
        [sys.executable, program, str(tmp_path), way], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300
    )
    said = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, said
    signals = json.loads(done.stdout.decode().splitlines()[-1])
    assert signals == [signal.SIGKILL] * (len(signals) - 1) + [0] and len(signals) > 2, said
    starts = (tmp_path / "killed" / "starts").read_text().split()
    assert int(starts[-1]) > 0 and starts == sorted(starts, key=int), "an attempt did not go on: {}".format(starts)
    ends = [np.load(str(tmp_path / (run + ".npz"))) for run in ("killed", "uninterrupted")]
    for name in ends[1].files:
        assert ends[0][name].tobytes() == ends[1][name].tobytes(), name
    for ending in ends:
        weights = [ending["arr_0"], ending["arr_1"]]
        kits.assert_held_and_free_moved(killed_training.WEIGHTS, weights, kits.MASKS, killed_training.ADDRESSES)
