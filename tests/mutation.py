"""Switch off one part of the package at a time, and see that a named test turns red: `tox run -e py313-tf221-mutants`.

    python mutation.py [NAME ...]

A mutant is one text replaced in a copy of the installed package, which child processes import in its place. A text that is
no longer there is an error: the mutant has to follow the code. Exit code 0: each mutant was killed, 1: one lives.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import freezecompat

PACKAGE = os.path.dirname(os.path.abspath(freezecompat.__file__))
TESTS = os.path.dirname(os.path.abspath(__file__))


class Mutant(NamedTuple):
    name: str
    file: str
    text: str
    replacement: str
    mode: str  # of TensorFlow
    test: str  # that must turn red, and is green without the mutant


_EVERY_GRADIENT = "tf/test_every_gradient.py::test_frozen_elements_hold_and_the_others_train_as_in_the_oracle"

MUTANTS = [
    Mutant(
        "gradient select",
        "backends/held/base.py",
        "return self._selected(gradient, self._clear_where_frozen)",
        "return gradient",
        "eager",
        _EVERY_GRADIENT + "[Steps tf.train adam]",
    ),
    Mutant(
        "sparse gather",
        "backends/held/base.py",
        "zero(values, gradient.indices)",
        "values",
        "eager",
        "tf/test_ragged_batches.py::test_ragged_and_empty_batches[tf.train Tape-looked up]",
    ),
    Mutant(
        "selected write",
        "backends/selected_writes.py",
        "value = _compat.select(self._held.mask(), present, combine(present, tensor))",
        "value = combine(present, tensor)",
        "eager",
        "tf/test_step_cost.py::test_a_step_of_keras_writes_a_weight_once_where_it_did_so_before[keras3-traced-{'weight_decay': 0.1}]",
    ),
    Mutant(
        "writes that pass by",
        "backends/selected_writes.py",
        "return all((id(write.op.graph), write.op.name) in self._made for write in written)",
        "return True",
        "eager",
        "tf/test_contract.py::test_frozen_from_the_first_step[tf1-function-ftrl]",
    ),
    Mutant(
        "put-back",
        "backends/held/base.py",
        "return self.variable.assign(self.corrected(snapshot, self.variable))",
        "return self.variable.assign(_compat.as_tensor(self.variable))",
        "eager",
        _EVERY_GRADIENT + "[Steps tf.train ftrl]",
    ),
    Mutant(
        "slot reset",
        "backends/held/base.py",
        "for adapter in list(self.adapters):",
        "for adapter in []:",
        "eager",
        "tf/eager/test_held_value.py::test_no_jump_at_thaw",
    ),
    Mutant(
        "finalize hold",
        "backends/keras.py",
        'return {"apply": self._apply, "finalize_variable_values": self._finalize}',
        'return {"apply": self._apply}',
        "eager",
        "tf/eager/test_other_writers.py::test_a_moving_average_that_overwrites_the_weights[keras3-at the end]",
    ),
    Mutant(
        "control dependency",
        "backends/base.py",
        "return _compat.control_dependencies(before if self._by_hand else [])",
        "return _compat.control_dependencies([])",
        "graph",
        "tf/graph/test_graph_training.py::test_exact_and_the_oracle_in_200_of_200_steps",
    ),
    Mutant(
        "identity look-up",
        "resolve.py",
        "if any(handle is address for handle in row.handles):",
        "if any(handle.shape == address.shape for handle in row.handles):",
        "eager",
        "tf/test_addresses.py::test_a_variable_is_found_by_identity_among_its_equals",
    ),
    Mutant(
        "constraint order",
        "backends/base.py",
        "return correct(run(pairs))",
        "correct()\n            return run(pairs)",
        "eager",
        "tf/eager/test_other_writers.py::test_a_constraint_sees_the_whole_weight_and_counts_for_the_free_elements",
    ),
]


def failures(folder, mode, tests):
    """(exit code of pytest, its last line) of a run with the package in `folder`."""
    path = os.pathsep.join([folder, os.path.join(TESTS, "tf")])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--import-mode=importlib"]
    run = subprocess.run(
        command + ["--tf-mode", mode] + tests,
        cwd=TESTS,
        env=dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    return run.returncode, (run.stdout.strip().splitlines() or [""])[-1]


def verdict(mutant):
    """ "killed", or why not."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "freezecompat")
        shutil.copytree(PACKAGE, copy)
        path = os.path.join(copy, *mutant.file.split("/"))
        with open(path, encoding="utf-8") as source:
            text = source.read()
        if text.count(mutant.text) != 1:
            return "ERROR: its text stands {} times in {}".format(text.count(mutant.text), mutant.file)
        with open(path, "w", encoding="utf-8") as source:
            source.write(text.replace(mutant.text, mutant.replacement))
        code, line = failures(folder, mutant.mode, [mutant.test])
    if code == 1 and "failed" in line:
        return "killed"
    return "LIVES" if code == 0 else "ERROR: " + line


def main(names):
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    passed = bool(chosen)
    for mode in sorted({mutant.mode for mutant in chosen}):
        code, line = failures(os.path.dirname(PACKAGE), mode, [m.test for m in chosen if m.mode == mode])
        print("without a mutant, {} mode: {}".format(mode, line), flush=True)
        passed &= code == 0
    print("{:20} {:30} {}".format("mutant", "verdict", "test"))
    for mutant in chosen:
        found = verdict(mutant)
        print("{:20} {:30} {}".format(mutant.name, found, mutant.test), flush=True)
        passed &= found == "killed"
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
