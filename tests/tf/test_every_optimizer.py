"""The three laws under every optimizer that the runtime at hand has.

Frozen from the start, thawed, frozen warm, and thawed again. `--every-option` adds each option of each class (tox
environments `*-sweep`), and `--guarantees` keeps what each case has shown, a row of docs/guarantees.md.
"""

import numpy as np
import pytest

import freezecompat as fc
import given
import optimizers
import runtimes
from freezecompat.backends.held import HeldWeight
from programs import MASKS


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        parametrize(metafunc, "case", optimizers.cases(every_option=metafunc.config.getoption("--every-option")))
    if "clipping" in metafunc.fixturenames:
        parametrize(metafunc, "clipping", optimizers.clipping_cases())


def parametrize(metafunc, name, cases):
    metafunc.parametrize(name, [pytest.param(case, id=title) for title, case in sorted(cases.items())])


def test_frozen_elements_hold_and_the_others_train_as_in_the_oracle(case, graph_as_written, shows, put_back):
    program, oracle = case.program(), case.program(oracle=True)
    frozen = fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    program.finish()
    oracle.set_frozen(MASKS)
    start = oracle.stored()
    shows("frozen from step 0", train(case, program, oracle, MASKS, range(0, 3)))
    moves = frozen_elements_move(start, oracle.stored())
    frozen.thaw(session=program.session)
    oracle.set_frozen({})
    shows("thawed at step 3", train(case, program, oracle, {}, range(3, 6)))
    frozen.freeze(MASKS, session=program.session)
    oracle.set_frozen(MASKS)
    start = oracle.stored()
    shown = train(case, program, oracle, MASKS, range(6, 8))
    moves_warm = frozen_elements_move(start, oracle.stored())
    frozen.verify(session=program.session)
    shows("frozen warm at step 6", shown)
    frozen.thaw(session=program.session)
    oracle.set_frozen({})
    shows("thawed warm at step 8", train(case, program, oracle, {}, range(8, 10)))
    shows("looked-up weight", "equal" if case.looked_up is None else refusal_of_rows(case))
    shows("needs the correction", needed(moves, moves_warm, [name for name in MASKS if shape_of(name) in put_back]))


def train(case, program, oracle, masks, steps):
    """Train both. Frozen elements keep their bytes, each other one moves in some step, and is the oracle's.

    "equal", or where the optimizer mixes the elements and the free ones are not the oracle's "exact only" and why.
    """
    now = program.values()
    moved = {name: np.zeros(value.shape, bool) for name, value in now.items()}
    shown = "equal"
    for step in steps:
        before = now
        program.train(step)
        oracle.train(step)
        now, expected = program.values(), oracle.values()
        for name, value in now.items():
            mask = masks.get(name, np.zeros(value.shape, bool))
            assert value[mask].tobytes() == before[name][mask].tobytes(), "{} moved at step {}".format(name, step)
            if value.tobytes() != expected[name].tobytes():
                differ = np.argwhere(value != expected[name]).tolist()
                assert case.mixes_elements, "{} is not the oracle's at {}, in {}".format(name, step, differ)
                shown = "exact only: " + case.mixes_elements
            moved[name] |= value != before[name]
    for name, found in moved.items():
        free = ~masks.get(name, np.zeros(found.shape, bool))
        rows = slice(0, 6) if name == "table" else slice(None)  # row 6 of the table is in no batch
        assert found[rows][free[rows]].any(), "{} does not train".format(name)
        if not case.may_stand_still:
            assert found[rows][free[rows]].all(), "a free element of {} stands still".format(name)
    return shown


def frozen_elements_move(before, after):
    """The weights whose frozen elements the optimizer alone moves, although they have fresh slots and a gradient of 0."""
    return [name for name, mask in MASKS.items() if before[name][mask].tobytes() != after[name][mask].tobytes()]


def needed(moves, moves_warm, put_back):
    """What a row says: "no" also where what writes the moved ones leaves frozen elements alone, so that nothing is put back."""
    for when, moved in (("", moves), ("frozen warm", moves_warm)):
        found = [name for name in moved if name in put_back]
        if found:
            where = "" if any(name != "table" for name in found) else "looked up"
            return ", ".join(filter(None, (where, when))) or "yes"
    return "no"


def shape_of(name):
    return MASKS[name].shape


@pytest.fixture
def put_back(monkeypatch):
    """The shapes of the weights whose values a step has put back, or looks at to do so."""
    shapes = set()
    for cls in [HeldWeight] + HeldWeight.__subclasses__():
        if "put_back" in vars(cls):
            monkeypatch.setattr(cls, "put_back", _noting(vars(cls)["put_back"], shapes))
    return shapes


def _noting(original, shapes):
    def put_back(held, snapshot):
        shapes.add(held.shape)
        return original(held, snapshot)

    return put_back


def refusal_of_rows(case):
    """What TensorFlow says when this optimizer, without a freeze, is given a gradient of looked-up rows."""
    with given.place_of_its_own():
        program = case.looked_up()
        with pytest.raises((NotImplementedError, TypeError, ValueError)) as caught:
            program.train(0)
    return given.refused(caught.value)


def test_a_frozen_gradient_does_not_count_in_the_norm(clipping, graph_as_written):
    """Wherever this Keras clips: in apply_gradients, in minimize, or where it builds the train function of a graph."""
    program, oracle = clipping.program(), clipping.program(oracle=True)
    fc.freeze(program.target, MASKS, optimizer=program.optimizer, session=program.session)
    program.finish()
    oracle.set_frozen(MASKS)
    train(clipping, program, oracle, MASKS, range(0, 2))


def test_there_are_as_many_optimizers_as_the_runtime_lists():
    """The list is found, not written: it has at least those that every TensorFlow has."""
    classes = {name.split(" ")[-1] for name in optimizers.cases(every_option=False)}
    assert {"GradientDescent", "Momentum", "Adam", "Adagrad", "AdagradDA", "Adadelta", "RMSProp", "Ftrl"} <= classes
    if runtimes.EAGER or "tf.keras" in runtimes.keras_packages():
        assert {"SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl"} <= classes
