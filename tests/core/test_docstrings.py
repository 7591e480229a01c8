"""The examples in the docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import freezecompat

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(freezecompat.__path__, "freezecompat.")
    if not found.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    """Each example prints what it says."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
