"""Copies of a frozen Keras 2 model or optimizer in graph mode: as without us, unfrozen, independent, trained as plain ones."""

import os

import pytest

import copies
import freezecompat as fc
import kits
from copies import of_ours
from kits import MASKS, SPEC, assert_all_moved, assert_held_and_free_moved, fit, values

KITS = kits.graph_kits()


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


@pytest.fixture(autouse=True)
def same_arithmetic(graph_as_written):
    """A copy in one graph with a frozen model and one in a graph with a plain model are rewritten alike: not at all."""


# Not a SavedModel, which TF 1.15 loads in a graph and can't train; its session is of no more use then.
WAYS = [copying for copying in copies.MODEL_COPIES if copying is not copies.by_saved_model]


def compiled(kit, attach, epochs=2):
    """A model with slots that are warm, the same with a freeze as without: nothing is frozen until it has trained."""
    model = kit.compiled()
    frozen = fc.freeze(model, fc.FreezeSpec.empty()) if attach else None
    if epochs:
        fit(model, epochs)
    return model, frozen


def trained_copy(kit, model, copying, path):
    """The values that a copy begins with, those after two epochs, and what optimizer it came with; or the error."""
    try:
        copied = copying(kit, model, path)
        optimizer = getattr(copied, "optimizer", None)
        if optimizer is None:
            copied.compile(optimizer=kit.adam(), loss="mse")
        assert of_ours(copied) == []
        begin = values(copied)
        fit(copied, 2)
        return begin, values(copied), type(optimizer).__name__
    except AssertionError:
        raise
    except Exception as error:  # whatever this runtime raises without us
        return type(error).__name__


def in_bytes(arrays):
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("copying", WAYS)
def test_a_copy_of_a_model(kit, copying, tmp_path):
    """It is made, or refused, as one of a plain model, and trains as that; the original stays as it was, and frozen."""
    path = os.path.join(str(tmp_path), "saved")
    plain = trained_copy(kit, compiled(kit, False)[0], copying, path + "-plain")
    works = isinstance(plain, tuple)
    assert works or copying not in (copies.by_clone_model, copies.by_config, copies.by_h5_file)
    model, frozen = compiled(kit, True)
    kept = values(model)
    copied = trained_copy(kit, model, copying, path + "-attached")
    if works:
        assert in_bytes(copied[0] + copied[1]) == in_bytes(plain[0] + plain[1])
        assert copied[2] == plain[2]
    else:
        assert copied == plain
    assert in_bytes(values(model)) == in_bytes(kept), "the copy trained the original"
    frozen.freeze(SPEC)
    frozen.rebase()
    frozen_copy = trained_copy(kit, model, copying, path + "-frozen")
    assert isinstance(frozen_copy, tuple) == works
    if works:
        begin, end, _ = frozen_copy
        assert in_bytes(begin) == in_bytes(kept)
        assert_all_moved(begin, end)
    fit(model)
    assert_held_and_free_moved(kept, values(model), MASKS)
    frozen.verify()


def trained_with_a_copy(kit, optimizer, copying):
    """The values of a model of its own that a copy of the optimizer trains; or the error."""
    try:
        copied = copying(optimizer)
        other = kit.compiled(copied)
        fit(other, 2)
        return of_ours(copied), in_bytes(values(other))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("epochs", [0, 2], ids=["new", "stepped"])
@pytest.mark.parametrize("copying", copies.OPTIMIZER_COPIES)
def test_a_copy_of_an_optimizer(kit, copying, epochs):
    """It is made, or refused, as one of a plain optimizer, and trains a model as that one does."""
    plain = trained_with_a_copy(kit, compiled(kit, False, epochs)[0].optimizer, copying)
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    if epochs:
        fit(model, epochs)
    kept = values(model)
    assert trained_with_a_copy(kit, model.optimizer, copying) == plain
    if copying is copies.optimizer_by_config and not isinstance(kit, kits.TrainKit):
        assert plain[0] == [] and len(plain[1]) == 4
    fit(model)
    assert_held_and_free_moved(kept, values(model), MASKS)
    frozen.verify()
