"""Fifty steps come out the same without the library, with it imported, with a freeze of nothing, and after a release."""

import functools
import json
import os
import subprocess
import sys

import pytest

import fifty_steps
import freezecompat as fc
import kits
import programs
import runtimes

_MODE = "eager" if runtimes.EAGER else "graph"
_PROGRAMS = runtimes.runtimes(programs.noisy)
_ELEMENTS = {"hidden/kernel": [(1, 2), (3, 5)]}


class Frozen(fifty_steps.Plain):
    """A freeze of `spec`, released before the step with number `until`."""

    def __init__(self, spec=None, until=None, before_compile=False):
        self.spec = spec
        self.until = until
        self.before_compile = before_compile

    def freeze(self, target, optimizer=None, session=None):
        spec = self.spec or fc.FreezeSpec.empty()
        self.frozen = fc.freeze(target, spec, optimizer=optimizer, session=session)

    def step(self, number, session=None):
        if number == self.until:
            self.frozen.release(session=session)
        elif number == 15 and self.until is None:
            self.frozen.verify(session=session)


NOTHING = {"a freeze of nothing": Frozen()}
BEFORE_COMPILE = {"a freeze of nothing before compile": Frozen(before_compile=True)}
#: Of one program and one model, or with --every-option of each.
RELEASED = {"a freeze of nothing, released in training": Frozen(until=15)}
RELEASED_PROGRAM = {"elements, released before training": Frozen(programs.MASKS, until=0), **RELEASED}
RELEASED_MODEL = {"elements, released before training": Frozen(_ELEMENTS, until=0), **RELEASED}


def chosen_programs():
    """Each API's loops under Adam; Keras' own steps in eager mode are those of the models."""
    own = ("fit", "train_on_batch", "run_eagerly") if runtimes.EAGER else ("fit",)
    return [name for name in _PROGRAMS if name.endswith("-adam") and not any(way in name for way in own)]


def pytest_generate_tests(metafunc):
    every_option = metafunc.config.getoption("--every-option")
    if "name" in metafunc.fixturenames:
        names = sorted(_PROGRAMS if every_option else chosen_programs())
        ways = [(name, NOTHING) for name in names]
        ways += [(name, RELEASED_PROGRAM) for name in (names if every_option else [fifty_steps.first_program()])]
        parametrize(metafunc, "name, way", ways)
    if "kit" in metafunc.fixturenames:
        names = sorted(kits_of(every_option))
        ways = [(name, {**NOTHING, **BEFORE_COMPILE}) for name in names]
        ways += [(name, RELEASED_MODEL) for name in (names if every_option else names[:1])]
        parametrize(metafunc, "kit, way", ways)


def parametrize(metafunc, names, ways):
    cases = [(name, way, one) for name, found in ways for way, one in found.items()]
    metafunc.parametrize(names, [pytest.param(name, one, id="{}, {}".format(name, way)) for name, way, one in cases])


def kits_of(every_option=True):
    """{id: Kit}: in eager mode, with --every-option, under `tf.train` optimizers too."""
    return kits.kits(tf_train=every_option) if runtimes.EAGER else kits.graph_kits()


def of_program(name, *options):
    return fifty_steps.leaves(fifty_steps.of_program(_PROGRAMS[name], *options))


def of_model(name, *options):
    return fifty_steps.leaves(fifty_steps.of_keras(kits_of()[name], *options))


@functools.lru_cache(maxsize=None)
def plain(train, name):
    return train(name)


def different(one, other):
    """The paths at which two trainings differ."""
    return [path for path in {**one, **other} if one.get(path) != other.get(path)]


def test_a_program(name, way):
    """Losses, weights, slots, counters, names, draws, collections, checkpoints: the same bytes."""
    expected = plain(of_program, name)
    assert len(expected) > 70
    assert different(expected, of_program(name, way)) == []


def test_a_keras_model(kit, way):
    """Initial weights, losses, metrics, slots, counters, names, draws, predictions, files: the same bytes."""
    expected = plain(of_model, kit)
    assert len(expected) > 70
    assert different(expected, of_model(kit, way)) == []


def differences(train, name, frozen):
    """What differs between a training and itself, one from another seed, and one with frozen elements."""
    expected = plain(train, name)
    ways = [(), (fifty_steps.Plain(), 8), (frozen,)]
    return [{path[0] for path in different(expected, train(name, *way))} for way in ways]


def test_a_difference_of_programs_is_seen():
    """One seed gives the same twice; another seed, or a frozen element, another training."""
    again, other_seed, frozen = differences(of_program, fifty_steps.first_program(), Frozen(programs.MASKS))
    trained = {"losses", "weights", "optimizer", "files"} | (set() if runtimes.EAGER else {"graph"})
    assert again == set()
    assert other_seed == trained | {"draws"}
    assert frozen == trained


def test_a_difference_of_models_is_seen():
    """One seed gives the same twice; another seed, or a frozen element, another training."""
    for name in sorted(kits_of())[:1]:  # no Keras trains in the graphs of the newest TensorFlows
        again, other_seed, frozen = differences(of_model, name, Frozen(_ELEMENTS))
        trained = {"losses", "weights", "optimizer", "predicted", "files"}
        assert again == set()
        assert other_seed >= trained | {"initial", "draws"}
        assert frozen == trained


def test_without_the_library():
    """A process that never imports the library gives the same bytes as this one."""
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "fifty_steps.py"), _MODE]
    child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert child.returncode == 0, child.stderr[-3000:]
    found = plain(of_program, fifty_steps.first_program())
    assert json.loads(child.stdout.splitlines()[-1]) == [["/".join(path), leaf] for path, leaf in found.items()]
