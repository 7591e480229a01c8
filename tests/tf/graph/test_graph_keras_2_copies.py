"""Copies of a frozen Keras 2 model or optimizer in graph mode: as without us, unfrozen, independent, trained as plain ones."""

import copy
import os
import pickle

import numpy as np
import pytest

import freezecompat as fc
import kits
from kits import MASKS, SPEC, assert_held_and_free_moved, fit, values

KITS = kits.graph_kits()


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


@pytest.fixture(autouse=True)
def same_arithmetic(graph_as_written):
    """A copy in one graph with a frozen model and one in a graph with a plain model are rewritten alike: not at all."""


# How to copy a compiled model; each gives a model, compiled or not.


def by_clone_model(keras, model, path):
    cloned = keras.models.clone_model(model)
    cloned.set_weights(model.get_weights())
    return cloned


def by_config(keras, model, path):
    made = type(model).from_config(model.get_config())
    made.set_weights(model.get_weights())
    return made


def by_h5_file(keras, model, path):
    model.save(path + ".h5")
    return keras.models.load_model(path + ".h5")


def by_keras_file(keras, model, path):
    model.save(path + ".keras")
    return keras.models.load_model(path + ".keras")


def by_deepcopy(keras, model, path):
    return copy.deepcopy(model)


def by_pickle(keras, model, path):
    return pickle.loads(pickle.dumps(model))


# Not among them: a SavedModel, which TF 1.15 loads in a graph and can't train; its session is of no more use then.
MODEL_COPIES = [by_clone_model, by_config, by_h5_file, by_keras_file, by_deepcopy, by_pickle]

# How to copy an optimizer.


def optimizer_by_deepcopy(optimizer):
    return copy.deepcopy(optimizer)


def optimizer_by_pickle(optimizer):
    return pickle.loads(pickle.dumps(optimizer))


def optimizer_by_config(optimizer):
    return type(optimizer).from_config(optimizer.get_config())


OPTIMIZER_COPIES = [optimizer_by_deepcopy, optimizer_by_pickle, optimizer_by_config]


def compiled(kit, attach, epochs=2):
    """A model with slots that are warm, the same with a freeze as without: nothing is frozen until it has trained."""
    model = kit.compiled()
    frozen = fc.freeze(model, fc.FreezeSpec.empty()) if attach else None
    if epochs:
        fit(model, epochs)
    return model, frozen


def trained_copy(kit, model, copying, path):
    """The values that a copy begins with and those of two epochs, and whether it came with an optimizer; or the error."""
    try:
        copied = copying(kit.keras, model, path)
        optimizer = getattr(copied, "optimizer", None)
        if optimizer is None:
            copied.compile(optimizer=kit.adam(), loss="mse")
        assert not [name for name, one in vars(copied).items() if "freezecompat" in type(one).__module__]
        begin = values(copied)
        fit(copied, 2)
        return [one.tobytes() for one in begin + values(copied)], type(optimizer).__name__
    except AssertionError:
        raise
    except Exception as error:  # whatever this runtime raises without us
        return type(error).__name__


@pytest.mark.parametrize("copying", MODEL_COPIES)
def test_a_copy_of_a_model(kit, copying, tmp_path):
    """It is made, or refused, as one of a plain model, and trains as that; the original stays as it was, and frozen."""
    path = os.path.join(str(tmp_path), "saved")
    plain = trained_copy(kit, compiled(kit, False)[0], copying, path + "-plain")
    model, frozen = compiled(kit, True)
    kept = values(model)
    copied = trained_copy(kit, model, copying, path + "-attached")
    assert copied == plain
    assert [one.tobytes() for one in values(model)] == [one.tobytes() for one in kept], "the copy trained the original"
    if copying in (by_clone_model, by_config, by_h5_file):
        assert isinstance(plain, tuple)
    frozen.freeze(SPEC)
    frozen.rebase()
    frozen_copy = trained_copy(kit, model, copying, path + "-frozen")
    assert isinstance(frozen_copy, tuple) == isinstance(plain, tuple)
    if isinstance(plain, tuple):
        begin, end = frozen_copy[0][:4], frozen_copy[0][4:]
        assert begin == [one.tobytes() for one in kept]
        moved = [all_moved(one, other) for one, other in zip(begin, end)]
        assert moved == [True] * 4, "the copy is frozen"
    fit(model)
    assert_held_and_free_moved(kept, values(model), MASKS)
    frozen.verify()


def all_moved(one, other):
    return bool((np.frombuffer(one, "f4") != np.frombuffer(other, "f4")).all())


def trained_with_a_copy(kit, optimizer, copying):
    """The values of a model of its own that a copy of the optimizer trains; or the error."""
    try:
        copied = copying(optimizer)
        taken = [name for name, one in vars(copied).items() if "freezecompat" in type(one).__module__]
        other = kit.compiled(copied)
        fit(other, 2)
        return taken, [one.tobytes() for one in values(other)]
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("epochs", [0, 2], ids=["new", "stepped"])
@pytest.mark.parametrize("copying", OPTIMIZER_COPIES)
def test_a_copy_of_an_optimizer(kit, copying, epochs):
    """It is made, or refused, as one of a plain optimizer, and trains a model as that one does."""
    plain = trained_with_a_copy(kit, compiled(kit, False, epochs)[0].optimizer, copying)
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    if epochs:
        fit(model, epochs)
    kept = values(model)
    assert trained_with_a_copy(kit, model.optimizer, copying) == plain
    if copying is optimizer_by_config and not isinstance(kit, kits.TrainKit):
        assert plain[0] == [] and len(plain[1]) == 4
    fit(model)
    assert_held_and_free_moved(kept, values(model), MASKS)
    frozen.verify()
