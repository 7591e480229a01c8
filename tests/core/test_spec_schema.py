"""The published JSON Schema of spec files: it takes what is written, and refuses what is refused."""

import json
import os

import jsonschema
import numpy as np
import pytest

import freezecompat
from freezecompat import FreezeSpec, elements
from freezecompat.cli import main
from freezecompat.elements.reading import _JSON_FORMS

with open(os.path.join(os.path.dirname(freezecompat.__file__), "spec.schema.json")) as file:
    SCHEMA = json.load(file)

EVERYTHING = FreezeSpec(
    [
        ("a", (1, 2)),
        ("a", [0, 2]),
        ("a", "all"),
        ("a", "1:3, :"),
        ("a", np.array([[True, False]])),
        ("a", elements.rows([0, 5])),
        ("a", elements.where("w > 0") | elements.zeros()),
        ("a", elements.nonzero() & ~elements.smallest(0.8)),
        ("a", elements.largest(100)),
        ("a", elements.random(0.5, seed=3)),
        ("a", elements.units([0], axis=[1, 2], statistics=True)),
        ("a", elements.gates(["forget"], order=["input", "forget"])),
        ("a", elements.pin("all", [[0.5, float("nan")]])),
    ]
)


@pytest.mark.parametrize(
    "spec", [EVERYTHING, FreezeSpec.empty(), EVERYTHING | FreezeSpec({"a": "all"}), ~FreezeSpec({"a": "all"})]
)
def test_what_is_written_fits(spec):
    """Every kind of elements, and specs of specs."""
    jsonschema.validate(json.loads(spec.to_json()), SCHEMA)


def test_every_form_is_in_the_schema():
    """The table that files are read by and the schema name the same keys."""
    forms = SCHEMA["definitions"]["elements"]["oneOf"]
    described = {tuple(form["required"]): set(form["properties"]) for form in forms if "properties" in form}
    read = {form.keys: set(form.keys) | set(form.optional) for form in _JSON_FORMS.values()}
    assert described == read


@pytest.mark.parametrize(
    "text",
    [
        '{"freeze": []}',
        '{"freezecompat": 2, "freeze": []}',
        '{"freezecompat": 1}',
        '{"freezecompat": 1, "freeze": [], "more": 1}',
        '{"freezecompat": 1, "freeze": [{"weight": "a"}]}',
        '{"freezecompat": 1, "freeze": [{"weight": 1, "elements": "all"}]}',
        '{"freezecompat": 1, "freeze": [{"weight": "a", "elements": {"zeros": false}}]}',
        '{"freezecompat": 1, "freeze": [{"weight": "a", "elements": {"rows": []}}]}',
        '{"freezecompat": 1, "freeze": [{"weight": "a", "elements": {"rows": [1.5]}}]}',
        '{"freezecompat": 1, "freeze": [{"weight": "a", "elements": {"unknown": 1}}]}',
        '{"freezecompat": 1, "op": "xor", "specs": []}',
        '{"freezecompat": 1, "op": "not", "specs": [{"freeze": []}, {"freeze": []}]}',
    ],
)
def test_what_is_refused_does_not_fit(text):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(text), SCHEMA)
    with pytest.raises((ValueError, TypeError)):
        FreezeSpec.from_json(text)


def test_the_command_prints_it(capsys):
    """`freezecompat schema` gives the very file."""
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
