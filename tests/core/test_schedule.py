"""The schedule as an object and as a file."""

import json
import os
import time

import numpy as np
import pytest

import freezecompat as fc
from freezecompat import Schedule
from freezecompat.elements import largest, pin, random, smallest, where
from freezecompat.exceptions import FreezeCompatError, SpecTypeError, SpecValueError

HERE = os.path.dirname(os.path.abspath(__file__))
EVERYTHING = (
    Schedule()
    .freeze({"hidden/kernel": [(1, 2), (3, 1)], "*/bias": "all"}, step=0)
    .freeze([("a", pin("all", 0.5)), ("a", (0,))], epoch=2)
    .freeze({"*/kernel": where("abs(w) < 1e-3")}, every_steps=500)
    .freeze({"*/kernel": smallest(0.1), "table": random(3, seed=1)}, every_epochs=1, growing=True)
    .freeze(~fc.FreezeSpec({"out": "all"}) & {"*": largest(0.5)}, when="val_loss < 0.1 and accuracy > 0.9")
    .thaw({"block2": "all"}, every_steps=10, when="loss > 2 * last_loss or isnan(loss)")
    .thaw(step=1000)
)
TEXT = """{
  "freezecompat_schedule": 1,
  "entries": [
    {"freeze": [{"weight": "*/kernel", "elements": {"where": "abs(w) < 1e-3"}}], "every_steps": 500},
    {"freeze": [{"weight": "*/kernel", "elements": {"smallest": 0.1}}], "every_epochs": 1, "growing": true},
    {"freeze": {"op": "not", "specs": [{"freeze": [{"weight": "out", "elements": "all"}]}]}, "when": "loss < 1"},
    {"thaw": "all", "step": 1000}
  ]
}
"""


def test_the_four_of_the_issue_are_a_line_each():
    """As README has them: each is a schedule."""
    with open(os.path.join(HERE, os.pardir, os.pardir, "README.md"), encoding="utf-8") as file:
        lines = [line[len("schedule = ") :] for line in file if line.startswith("schedule = fc.Schedule()")]
    schedules = [eval(line, {"fc": fc, "smallest": smallest, "where": where}) for line in lines]
    assert len(schedules) == 5 and all(isinstance(schedule, Schedule) for schedule in schedules)
    assert repr(Schedule().thaw({"block2": "all"}, step=1000)) == "Schedule().thaw({'block2': 'all'}, step=1000)"
    assert Schedule().thaw_in_turn(["out", "block2", "block1"], every_epochs=3) == (
        Schedule().thaw({"out": "all"}, epoch=3).thaw({"block2": "all"}, epoch=6).thaw({"block1": "all"}, epoch=9)
    )


def test_it_prints_as_one_would_write_it():
    """What repr prints gives the schedule back."""
    names = dict(vars(fc.elements), Schedule=Schedule, FreezeSpec=fc.FreezeSpec, np=np)
    assert eval(repr(EVERYTHING), names) == EVERYTHING
    assert repr(Schedule()) == "Schedule()"
    assert repr(EVERYTHING.entries[3]) == (
        ".freeze({'*/kernel': smallest(0.1), 'table': random(3, seed=1)}, every_epochs=1, growing=True)"
    )
    assert repr(EVERYTHING.entries[4]) == (
        ".freeze(~FreezeSpec({'out': 'all'}) & FreezeSpec({'*': largest(0.5)}), "
        "when='val_loss < 0.1 and accuracy > 0.9')"
    )


def test_equal_and_immutable():
    """Equal schedules have one hash; a longer one leaves the shorter as it was."""
    first = Schedule().thaw(step=1)
    second = first.thaw(step=2)
    assert first == Schedule().thaw(step=1) != second and hash(first) == hash(Schedule().thaw(step=1))
    assert first + Schedule().thaw(step=2) == second
    assert len({first, second, Schedule().thaw(step=np.int64(1))}) == 2
    with pytest.raises(AttributeError):
        first.entries = ()
    with pytest.raises(TypeError):
        first + 1


def test_json_there_and_back():
    """The same text for the same schedule, an entry a line; mappings and pairs keep their meaning."""
    assert Schedule.from_json(EVERYTHING.to_json()) == EVERYTHING
    assert Schedule.from_json(EVERYTHING.to_json()).to_json() == EVERYTHING.to_json()
    assert Schedule.from_json(TEXT).to_json() == TEXT
    assert Schedule.from_json(Schedule().to_json()) == Schedule()
    assert EVERYTHING.fingerprint == Schedule.from_json(EVERYTHING.to_json()).fingerprint != Schedule().fingerprint


@pytest.mark.parametrize("name", ["schedule.json", "schedule.yaml"])
def test_files(tmp_path, name):
    """JSON and YAML; mask files are relative to the schedule's folder; errors name the file."""
    path = tmp_path / name
    EVERYTHING.dump(path)
    assert Schedule.load(path) == EVERYTHING
    np.save(str(tmp_path / "mask.npy"), np.array([True, False]))
    part = {"freeze": [{"weight": "a", "elements": {"mask": "mask.npy"}}], "step": 1}
    path.write_text(json.dumps({"freezecompat_schedule": 1, "entries": [part]}))
    assert Schedule.load(str(path)) == Schedule().freeze({"a": np.array([True, False])}, step=1)
    path.write_text("[1]")
    with pytest.raises(SpecValueError, match="{}: a schedule file has the keys".format(name)):
        Schedule.load(path)


def test_what_no_file_can_hold():
    """A function: the error names the entry, and a schedule of it has no fingerprint."""
    schedule = Schedule().thaw(step=1).freeze({"a": np.signbit}, step=1)
    with pytest.raises(SpecTypeError, match="entry 2: entry 1, 'a': a function can't be written to a file"):
        schedule.to_json()
    assert schedule.fingerprint is None


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda s: s.freeze({"a": "all"}), SpecValueError, "entry 1: an entry has one of step=, .* received none"),
        (lambda s: s.thaw(step=1).thaw(step=1, epoch=2), SpecValueError, "entry 2: .* received step=1, epoch=2"),
        (lambda s: s.thaw(step=1, when="loss < 1"), SpecValueError, "or when= with one of the every_; received step=1"),
        (lambda s: s.thaw(every_steps=2, every_epochs=2, when="loss < 1"), SpecValueError, "or when= with one of the"),
        (lambda s: s.thaw(step=-1), SpecValueError, "step= is an int from 0 on, received -1"),
        (lambda s: s.thaw(every_steps=0), SpecValueError, "every_steps= is an int from 1 on, received 0"),
        (lambda s: s.thaw(epoch=2**63), SpecValueError, "epoch= is an int from 0 on"),
        (lambda s: s.thaw(epoch=1.0), SpecTypeError, r"epoch= is an int, received 1\.0"),
        (lambda s: s.thaw(step=True), SpecTypeError, "step= is an int, received True"),
        (lambda s: s.thaw(when=3), SpecTypeError, "when= is text such as 'val_loss < 0.1', received 3"),
        (lambda s: s.thaw(when="val_loss"), SpecValueError, "when='val_loss' is no condition: a Name is no comparison"),
        (lambda s: s.thaw(when="1 < 2"), SpecValueError, "it names nothing of the logs"),
        (lambda s: s.thaw(when="loss <"), SpecValueError, "it can't be read; it compares arithmetic over names"),
        (lambda s: s.thaw(when="__import__('os') < loss"), SpecValueError, r"__import__\(\) is no arithmetic"),
        (lambda s: s.thaw(when="loss.real < 1"), SpecValueError, "an Attribute is no arithmetic|Attribute"),
        (lambda s: s.freeze(None, step=1), SpecTypeError, "freeze needs a spec"),
        (lambda s: s.freeze({}, step=1), SpecValueError, "the spec is empty"),
        (lambda s: s.freeze(fc.FreezeSpec.empty(), step=1), SpecValueError, "would never do anything"),
        (lambda s: s.freeze({"a": 1.5}, step=1), SpecTypeError, "entry 1: entry 1, 'a': elements are"),
        (
            lambda s: s.freeze({"a": smallest(0.1)}, step=1, growing=True),
            SpecValueError,
            "growing=True is for freeze with",
        ),
        (
            lambda s: s.freeze({"a": "all"}, every_steps=1, growing=True),
            SpecValueError,
            "takes smallest, largest or random",
        ),
        (
            lambda s: s.freeze(~fc.FreezeSpec({"a": smallest(0.1)}), every_steps=1, growing=True),
            SpecValueError,
            "not a comb",
        ),
        (lambda s: s.freeze({"a": smallest(0.1)}, every_steps=1, growing=1), SpecTypeError, "growing is True or False"),
        (lambda s: s.thaw_in_turn("out", every_steps=1), SpecTypeError, "takes a list of addresses or specs"),
        (lambda s: s.thaw_in_turn(["out"]), SpecValueError, "received none"),
    ],
)
def test_errors(make, error, text):
    """They name the entry, what was expected and what was received."""
    with pytest.raises(error, match=text):
        make(Schedule())


def entry_text(**entry):
    return json.dumps({"freezecompat_schedule": 1, "entries": [entry]})


HOSTILE = {
    "no JSON": ("{", "this is not JSON"),
    "a list": ("[]", "a schedule file has the keys"),
    "a spec file": ('{"freezecompat": 1, "freeze": []}', "'freezecompat' is unknown"),
    "another version": ('{"freezecompat_schedule": 2, "entries": []}', "the file has version 2"),
    "version true": ('{"freezecompat_schedule": true, "entries": []}', "the file has version True"),
    "entries are text": ('{"freezecompat_schedule": 1, "entries": "all"}', "'entries' is a list, received 'all'"),
    "an entry is a number": ('{"freezecompat_schedule": 1, "entries": [1]}', "entry 1: an entry with freeze has"),
    "an unknown key": (entry_text(thaw="all", step=1, run="rm"), "entry 1: .* 'run' is unknown"),
    "a key twice": (
        '{"freezecompat_schedule": 1, "entries": [{"thaw": "all", "step": 1, "step": 2}]}',
        "appears twice",
    ),
    "freeze and thaw": (entry_text(freeze=[], thaw="all", step=1), "'freeze' is unknown"),
    "freeze all": (entry_text(freeze="all", step=1), "a spec is a list of entries or has the keys 'op' and 'specs'"),
    "a step as text": (entry_text(thaw="all", step="1"), "step= is an int, received '1'"),
    "a step of 10 MB": (entry_text(thaw="all", step=1).replace("1}", "1" * 10**7 + "}"), "out of range"),
    "growing 1": (entry_text(freeze=[], every_steps=1, growing=1), "growing is True or False"),
    "code": (entry_text(thaw="all", when="__import__('os').system('true') < loss"), "is no condition"),
    "an exponent bomb": (entry_text(thaw="all", when="loss < 9**9**9"), "an exponent is an int from 1 to 16"),
    "a deep condition": (entry_text(thaw="all", when="-" * 900 + "loss < 1"), "is nested more than|can't be read"),
    "a long condition": (entry_text(thaw="all", when="loss < 1" + " " * 10**7), "characters, 1000 are allowed"),
    "deep lists": (
        '{"freezecompat_schedule": 1, "entries": ' + "[" * 10**4 + "]" * 10**4 + "}",
        "nested too deeply|entry 1",
    ),
    "a mask outside": (
        entry_text(freeze=[{"weight": "a", "elements": {"mask": "../mask.npy"}}], step=1),
        "entry 1: entry 1, 'a': .*folder",
    ),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file(tmp_path, name):
    """A clear error in under a second; nothing is run."""
    text, error = HOSTILE[name]
    path = os.path.join(str(tmp_path), "schedule.json")
    with open(path, "w") as file:
        file.write(text)
    start = time.process_time()
    with pytest.raises(FreezeCompatError, match=error):
        Schedule.load(path)
    assert time.process_time() - start < 1.0
