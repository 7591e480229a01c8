"""Spec files in YAML: the values of the JSON ones, and as little trust."""

import pytest
import yaml

from freezecompat import FreezeSpec, elements
from freezecompat.exceptions import MissingDependency, SpecTypeError, SpecValueError

SPEC = FreezeSpec(
    [("hidden/kernel", [(1, 2), (3, 1)]), ("a", elements.zeros() | "1:3, :"), ("a", elements.pin((0,), [0.5, 1.0]))]
)


def load(tmp_path, text):
    path = tmp_path / "spec.yml"
    path.write_text(text)
    return FreezeSpec.load(path)


def test_written_by_hand(tmp_path):
    """As a person would write it."""
    spec = load(
        tmp_path,
        "freezecompat: 1\nfreeze:\n- weight: hidden/kernel\n  elements: [[1, 2], [3, 1]]  # two\n"
        "- {weight: a, elements: {any: [{zeros: true}, '1:3, :']}}\n- weight: a\n  elements:\n    pin: [0]\n"
        "    value: [0.5, 1.0]\n",
    )
    assert spec == SPEC


def test_there_and_back(tmp_path):
    path = tmp_path / "spec.yaml"
    SPEC.dump(path)
    assert FreezeSpec.load(path) == SPEC
    assert yaml.safe_load(path.read_text())["freezecompat"] == 1


@pytest.mark.parametrize(
    "text, error",
    [
        ("", "is empty"),
        ("freezecompat: [1", "not YAML"),
        ("freezecompat: 1\nfreeze: []\nfreeze: []\n", "appears twice"),
        ("freezecompat: 1\n1: 2\n", "a key is text"),
        ("freezecompat: 1\nfreeze: &a [*a]\n", "has an alias"),
        ("freezecompat: 1\nfreeze: [&a [1], *a]\n", "has an alias"),
        ("freezecompat: 1\nfreeze: !!python/object/apply:os.system [true]\n", "has a tag"),
        ("freezecompat: 1\nfreeze: !!python/name:os.system x\n", "has a tag"),
        ("freezecompat: 1\nfreeze: 2020-99-99\n", "not YAML"),
        ("freezecompat: 1\nfreeze: []\n--- 2\n", "not YAML"),
        ("freezecompat: 1\nfreeze: " + "[" * 5000, "nested too deeply|not YAML"),
        ("freezecompat: 1\nfreeze: " + "[" * 200 + "]" * 200, "nested too deeply"),
        ("freezecompat: 1\nfreeze: " + "x" * 200000, "40000 are allowed"),
        ("freezecompat: 1\nfreeze: \x01\n", "not YAML"),
        ("freezecompat: 2\nfreeze: []\n", "version"),
    ],
)
def test_what_is_refused(tmp_path, text, error):
    """Broken, hostile and doubtful texts: one clear error that names the file."""
    with pytest.raises((SpecValueError, SpecTypeError), match=r"(?s)spec\.yml: .*(" + error + ")"):
        load(tmp_path, text)


def test_without_pyyaml(tmp_path, monkeypatch):
    """The error names the extra; JSON needs none."""
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(MissingDependency, match=r"freezecompat\[cli\]"):
        SPEC.dump(tmp_path / "spec.yaml")
    assert not list(tmp_path.iterdir())
    SPEC.dump(tmp_path / "spec.json")
