"""The mutants of `mutation.py` follow the code: `tox run -e py313-tf221-mutants` runs them."""

import importlib.util
import os

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_spec = importlib.util.spec_from_file_location("mutation", os.path.join(TESTS, "mutation.py"))
mutation = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mutation)


def test_each_mutant_replaces_one_text_of_the_package():
    for mutant in mutation.MUTANTS:
        with open(os.path.join(mutation.PACKAGE, *mutant.file.split("/")), encoding="utf-8") as source:
            assert source.read().count(mutant.text) == 1, "{}: change its text in mutation.py".format(mutant.name)


def test_the_test_of_each_mutant_exists():
    for mutant in mutation.MUTANTS:
        path, name = mutant.test.split("[")[0].split("::")
        with open(os.path.join(TESTS, *path.split("/")), encoding="utf-8") as source:
            assert "def {}(".format(name) in source.read(), "{}: name another test in mutation.py".format(mutant.name)
