"""frozen.save and fc.restore around a model that is built and loaded anew."""

import numpy as np
import pytest

import freezecompat as fc
import kits
from freezecompat import elements
from kits import SPEC, assert_held_and_free_moved, fit, values


@pytest.fixture(params=sorted(kits.kits()))
def kit(request):
    return kits.kits()[request.param]


@pytest.fixture
def saved(kit, tmp_path):
    """A trained model, its weights, and the file."""
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    fit(model)
    frozen.freeze({"out/bias": elements.pin((1,), np.nan)})
    frozen.thaw({"out/bias": "all"})
    frozen.freeze({"out/bias": elements.pin((0,), -0.0)})
    frozen.save(tmp_path / "frozen.npz")
    return values(model), tmp_path / "frozen.npz", dict(frozen.masks)


def test_a_model_that_was_loaded_is_frozen_again(kit, saved):
    """The same masks; held elements keep their bytes, the others train; verify() compares with the saved values."""
    weights, path, masks = saved
    model = kit.model(weights)
    frozen = fc.restore(model, path)
    model.compile(optimizer=kit.adam(), loss="mse")
    assert list(frozen.masks) == ["hidden/kernel", "out/bias"]
    assert all((frozen.masks[name] == masks[name]).all() for name in masks)
    model.set_weights([np.nan_to_num(w) for w in weights])
    frozen.verify()
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), masks)
    frozen.verify()


def test_other_values_are_refused_or_put_back(kit, saved):
    """A model that was not loaded: a table of what differs, and nothing has changed; asked for, the held values come back."""
    weights, path, masks = saved
    other = [w + np.float32(1.0) for w in kits.WEIGHTS]
    model = kit.model(other)
    optimizer = kit.adam()
    model.compile(optimizer=optimizer, loss="mse")
    with pytest.raises(
        fc.DoesNotFit, match=r"accept_differing=True:\n  hidden/kernel: 2 of 2 held values differ, \[1, 2\]"
    ):
        fc.restore(model, path)
    assert [a.tobytes() for a in values(model)] == [a.tobytes() for a in other] and "fit" not in vars(model)
    frozen = fc.restore(model, path, accept_differing=True)
    after = values(model)
    for name, index in (("hidden/kernel", 0), ("out/bias", 3)):
        assert after[index][masks[name]].tobytes() == weights[index][masks[name]].tobytes()
        assert after[index][~masks[name]].tobytes() == other[index][~masks[name]].tobytes()
    fit(model)
    assert_held_and_free_moved(after, values(model), masks)
    frozen.verify()


def test_another_model_is_refused(kit, saved):
    """Addresses and shapes that differ, in a table; nothing is attached."""
    _, path, _ = saved
    keras = kit.keras
    model = keras.Sequential([keras.layers.InputLayer((4,)), keras.layers.Dense(2, name="hidden")])
    with pytest.raises(
        fc.DoesNotFit, match=r"hidden/kernel: saved \(4, 3\) float32, here \(4, 2\) float32\n  out/bias"
    ):
        fc.restore(model, path, optimizer=kit.adam())
    assert "compile" not in vars(model)


def test_nothing_frozen_yet(kit, tmp_path):
    """An empty freeze is saved and restored as one."""
    model = kit.compiled()
    fc.freeze(model, fc.FreezeSpec.empty()).save(str(tmp_path / "frozen"))
    assert fc.restore(kit.compiled(), str(tmp_path / "frozen")).num_frozen == 0


def test_after_release_there_is_nothing_to_save(kit, tmp_path):
    frozen = fc.freeze(kit.compiled(), SPEC)
    frozen.release()
    with pytest.raises(fc.Released):
        frozen.save(tmp_path / "frozen")
    assert not list(tmp_path.iterdir())
