"""Copies of a frozen model or optimizer work where they work without us, and come out unfrozen and independent."""

import copy
import os

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes
from copies import MODEL_COPIES, OPTIMIZER_COPIES, of_ours
from kits import MASKS, SPEC, assert_all_moved, assert_held_and_free_moved, fit, values

KITS = kits.kits()
v1 = tf.compat.v1


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def trained(kit):
    model = kit.compiled()
    fit(model)
    return model


def works(action):
    try:
        return action(), None
    except Exception as error:  # whatever this runtime raises without us
        return None, error


def test_each_way_of_copying_a_model(kit, tmp_path):
    """A copy works where it works without us; it has the values, trains all elements, and leaves the original alone."""
    worked = []
    for copying in MODEL_COPIES:
        plain_path, path = (os.path.join(str(tmp_path), how + copying.__name__) for how in ("plain", "frozen"))
        plain, error = works(lambda: copying(kit, trained(kit), plain_path))
        model = trained(kit)
        frozen = fc.freeze(model, SPEC)
        if error is not None:
            with pytest.raises(Exception):
                copying(kit, model, path)
            continue
        worked.append(copying.__name__)
        copied = copying(kit, model, path)
        assert of_ours(copied) == []
        kept = values(model)
        for one, other in zip(kept, values(copied)):
            assert one.tobytes() == other.tobytes()
        compiled = getattr(plain, "optimizer", None) is not None
        assert (getattr(copied, "optimizer", None) is not None) == compiled, copying.__name__
        if not compiled:
            copied.compile(optimizer=kit.adam(), loss="mse")
        fit(copied)
        assert_all_moved(kept, values(copied))
        assert [a.tobytes() for a in values(model)] == [a.tobytes() for a in kept], "the copy trained the original"
        fit(model)
        assert_held_and_free_moved(kept, values(model), MASKS)
        frozen.verify()
    assert {"by_clone_model", "by_config", "by_keras_file"} <= set(worked)
    if not runtimes.TF1:
        assert "by_deepcopy" in worked


def optimizer_makers():
    found = {"tf.train-" + name: make for name, make in runtimes.v1_optimizers().items()}
    for name, kit in KITS.items():
        for optimizer, make in runtimes.keras_optimizers(kit.module).items():
            found["{}-{}".format(name, optimizer)] = make
    return found


OPTIMIZERS = optimizer_makers()
START = np.array([1.0, 2.0, 3.0], "f4")


@pytest.fixture(params=sorted(OPTIMIZERS))
def make_optimizer(request):
    return OPTIMIZERS[request.param]


def step(optimizer, variable):
    optimizer.apply_gradients([(tf.constant([1.0, -2.0, 0.5]), variable)])


@pytest.mark.parametrize("stepped", [False, True], ids=["new", "stepped"])
@pytest.mark.parametrize("copying", OPTIMIZER_COPIES)
def test_each_way_of_copying_an_optimizer(make_optimizer, copying, stepped):
    """Where a copy of an optimizer works without us it works attached, is free, and counts and remembers for itself."""

    def prepared(attach):
        variable = tf.Variable(START)
        optimizer = make_optimizer()
        frozen = fc.freeze([variable], {"#0": [1]}, optimizer=optimizer) if attach else None
        if stepped:
            step(optimizer, variable)
        return variable, optimizer, frozen

    # Asked of a plain one: does the copy work here, and does it train a variable of its own?
    def try_plain():
        copied = copying(prepared(False)[1])
        mine = tf.Variable(START)
        step(copied, mine)
        assert (mine.numpy() != START).all()

    error = works(try_plain)[1]
    variable, optimizer, frozen = prepared(True)
    if error is not None:
        with pytest.raises(Exception):
            copied = copying(optimizer)
            step(copied, tf.Variable(START))
        return
    copied = copying(optimizer)
    assert of_ours(copied) == []
    mine = tf.Variable(START)
    before = variable.numpy()
    listed = [kits.array(v) for v in kits.optimizer_variables(optimizer)]
    step(copied, mine)
    assert (mine.numpy() != START).all(), "the copy is frozen"
    assert variable.numpy().tobytes() == before.tobytes(), "the copy trained the original's variable"
    for one, other in zip(listed, kits.optimizer_variables(optimizer)):
        assert one.tobytes() == kits.array(other).tobytes(), "the copy used the original's slots"
    step(optimizer, variable)
    assert (variable.numpy() != before).tolist() == [True, False, True]
    frozen.verify()


def test_a_copy_taken_together_with_its_model_is_free(kit):
    """deepcopy of a dict that holds model and optimizer: works where it works without us, the copies know no freeze."""

    def prepared(attach):
        model, optimizer = kit.model(), kit.adam()
        frozen = fc.freeze(model, SPEC, optimizer=optimizer) if attach else None
        kits.tape_step(model, optimizer)
        return {"model": model, "optimizer": optimizer}, frozen

    def train(pair):
        before = values(pair["model"])
        kits.tape_step(pair["model"], pair["optimizer"])
        return before, values(pair["model"])

    error = works(lambda: train(copy.deepcopy(prepared(False)[0])))[1]
    pair, frozen = prepared(True)
    if error is not None:
        with pytest.raises(Exception):
            train(copy.deepcopy(pair))
        return
    copied = copy.deepcopy(pair)
    kept = values(pair["model"])
    assert_all_moved(*train(copied))
    assert [a.tobytes() for a in values(pair["model"])] == [a.tobytes() for a in kept]
    assert_held_and_free_moved(*train(pair), masks=MASKS)
    frozen.verify()
