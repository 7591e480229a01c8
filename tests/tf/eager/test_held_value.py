"""The held value: what the element holds when a step begins; and the slots of what is frozen or thawed."""

import os

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes
from kits import ADDRESSES, MASKS, SPEC, assert_held_and_free_moved, fit, tape_step, values

KITS = kits.kits()
v1 = tf.compat.v1


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def other_values():
    return [array + np.float32(0.25) for array in kits.WEIGHTS]


def by_set_weights(model, tmp_path):
    model.set_weights(other_values())


def by_assign(model, tmp_path):
    for variable, array in zip(model.weights, other_values()):
        variable.assign(array)


def by_load_weights(model, tmp_path):
    now = values(model)
    model.set_weights(other_values())
    path = os.path.join(str(tmp_path), "other.weights.h5")
    model.save_weights(path)
    model.set_weights(now)
    model.load_weights(path)


def by_checkpoint(model, tmp_path):
    now = values(model)
    model.set_weights(other_values())
    path = tf.train.Checkpoint(model=model).save(os.path.join(str(tmp_path), "other"))
    model.set_weights(now)
    tf.train.Checkpoint(model=model).restore(path)


@pytest.mark.parametrize("set_values", [by_set_weights, by_assign, by_load_weights, by_checkpoint])
def test_a_value_that_you_set_is_held_from_then_on(kit, set_values, tmp_path):
    """The new value is the held one; verify() tells that it is not the reference, until rebase()."""
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    fit(model)
    old = values(model)
    set_values(model, tmp_path)
    new = values(model)
    assert new[0].tobytes() == other_values()[0].tobytes()
    fit(model)
    assert_held_and_free_moved(new, values(model), MASKS)
    with pytest.raises(fc.FrozenWeightsMoved) as caught:
        frozen.verify()
    moved = caught.value
    assert type(moved) is fc.FrozenWeightsMoved
    assert (moved.weight, moved.element) == ("hidden/kernel", (1, 2))
    assert moved.before == old[0][1, 2] and moved.now == new[0][1, 2]
    assert [(m.weight, m.element) for m in moved.moved] == [("hidden/kernel", (1, 2)), ("hidden/kernel", (3, 2))]
    assert np.float32(moved.moved[1].before).tobytes() == old[0][3, 2].tobytes()
    frozen.rebase()
    frozen.verify()
    fit(model)
    frozen.verify()
    assert_held_and_free_moved(new, values(model), MASKS)


def test_a_plot_shows_what_moved(tmp_path):
    """Until rebase(); only weights with frozen elements have a panel, and the values stay."""
    model = KITS[min(KITS)].compiled()
    frozen = fc.freeze(model, SPEC)
    by_set_weights(model, tmp_path)
    figure = frozen.plot(os.path.join(str(tmp_path), "masks.png"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["hidden/kernel  (4, 3)\n2 of 12 frozen, 2 moved"]
    assert os.listdir(str(tmp_path)) == ["masks.png"]
    assert frozen.report().weights[0].moved == 2
    figure = frozen.rebase().plot()
    assert figure.axes[0].get_title(loc="left").endswith("2 of 12 frozen, 0 moved")
    assert [array.tobytes() for array in values(model)] == [array.tobytes() for array in other_values()]
    frozen.release()
    with pytest.raises(fc.Released):
        frozen.plot()


def test_a_value_set_and_set_back_is_no_move(kit):
    """verify() compares values, not assignments."""
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    fit(model)
    before = values(model)
    model.set_weights(other_values())
    model.set_weights(before)
    frozen.verify()


def test_verify_finds_a_changed_sign_of_zero(kit):
    """0.0 in place of -0.0 is a move: bytes are compared, not numbers."""
    model = kit.compiled()
    frozen = fc.freeze(model, {"hidden/kernel": (3, 2)})
    fit(model)
    frozen.verify()
    now = values(model)
    assert np.signbit(now[0][3, 2])
    now[0][3, 2] = 0.0
    model.set_weights(now)
    with pytest.raises(fc.FrozenWeightsMoved) as caught:
        frozen.verify()
    assert caught.value.element == (3, 2) and len(caught.value.moved) == 1


@pytest.mark.parametrize("value", [-0.0, 1e-42, 3e38, np.nan, np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_odd_values_are_held(kit, value, optimizer):
    """A frozen -0.0, subnormal, huge or infinite number or NaN keeps its bytes; all others train."""
    table = tf.Variable(np.array([[0.5, -1.0], [value, 2.0], [1.0, 0.25]], "f4"))
    before = table.numpy()
    optimizer = getattr(kit, optimizer)()
    frozen = fc.freeze({"table": table}, {"table": [(1, 0)]}, optimizer=optimizer)
    for _ in range(3):
        gradient = tf.constant(np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]], "f4"))
        optimizer.apply_gradients([(gradient, table)])
    free = np.array([[1, 1], [0, 1], [1, 1]], bool)
    after = table.numpy()
    assert after[1, 0].tobytes() == before[1, 0].tobytes()
    assert (after != before)[free].all() and np.isfinite(after[free]).all()
    frozen.verify()


def test_a_nan_gradient_of_a_frozen_element_harms_nothing(kit):
    """The gradient of a frozen element may be NaN: weight, slots and free elements are those of a gradient of 0."""
    gradients = np.array([[1.0, 2.0], [3.0, -1.0]], "f4")
    poisoned = gradients.copy()
    poisoned[0, 1] = np.nan
    found = []
    for gradient in (np.where([[0, 1], [0, 0]], np.float32(0), gradients), poisoned):
        weight = tf.Variable(np.array([[0.5, -0.5], [1.0, 2.0]], "f4"))
        optimizer = kit.adam()
        fc.freeze([weight], {"#0": [(0, 1)]}, optimizer=optimizer)
        for _ in range(3):
            optimizer.apply_gradients([(tf.constant(gradient), weight)])
        found.append([weight.numpy()] + kits.slots_of(optimizer, (2, 2)))
    assert len(found[0]) == 3
    for plain, with_nan in zip(*found):
        assert np.isfinite(with_nan).all()
        assert with_nan.tobytes() == plain.tobytes()


# Slots ---------------------------------------------------------------------------------------------------------------


def optimizers_with_slots():
    found = {"tf.train-" + name: runtimes.v1_optimizers()[name] for name in ("momentum", "adam")}
    for name, kit in KITS.items():
        for optimizer, make in runtimes.keras_optimizers(kit.module).items():
            if optimizer != "sgd":
                found["{}-{}".format(name, optimizer)] = make
    return found


OPTIMIZERS = optimizers_with_slots()


@pytest.fixture(params=sorted(OPTIMIZERS))
def make_optimizer(request):
    return OPTIMIZERS[request.param]


def slots_in(optimizer, variable):
    listed = kits.optimizer_variables(optimizer)
    return [kits.array(v) for v in listed if tuple(v.shape) == tuple(variable.shape) and v is not variable]


ELEMENT = np.array([[0, 1], [0, 0], [1, 0]], bool)


def warmed(make):
    weight = tf.Variable(np.array([[0.5, -0.5], [1.0, 2.0], [-1.0, 0.25]], "f4"))
    optimizer = make()
    frozen = fc.freeze([weight], fc.FreezeSpec.empty(), optimizer=optimizer)

    def step(value=1.0):
        gradient = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]], "f4") * np.float32(value)
        optimizer.apply_gradients([(tf.constant(gradient), weight)])

    for _ in range(3):
        step()
    return weight, optimizer, frozen, step


def test_slots_after_freeze_and_after_thaw_are_fresh(make_optimizer):
    """Freezing and thawing each set the slot entries of those elements to a fresh optimizer's; the others stay."""
    weight, optimizer, frozen, step = warmed(make_optimizer)
    warm = slots_in(optimizer, weight)
    assert warm and all((slot != 0).all() for slot in warm)
    frozen.freeze({"#0": ELEMENT})
    clean = slots_in(optimizer, weight)
    for before, after in zip(warm, clean):
        assert after[ELEMENT].tobytes() == np.zeros(2, "f4").tobytes()
        assert after[~ELEMENT].tobytes() == before[~ELEMENT].tobytes()
    step()
    step()
    held = slots_in(optimizer, weight)
    for slot in held:
        assert slot[ELEMENT].tobytes() == np.zeros(2, "f4").tobytes(), "a frozen element's slot fills"
        assert (slot != 0)[~ELEMENT].all()
    frozen.thaw()
    for before, after in zip(held, slots_in(optimizer, weight)):
        assert after.tobytes() == before.tobytes()


def test_no_jump_at_thaw(make_optimizer):
    """A thawed element whose gradient is 0 does not move on its first free step, but by weight decay."""
    weight, optimizer, frozen, step = warmed(make_optimizer)
    frozen.freeze({"#0": ELEMENT})
    step()
    frozen.thaw()
    before = weight.numpy()
    gradient = np.where(ELEMENT, np.float32(0), np.float32(1.0))
    optimizer.apply_gradients([(tf.constant(gradient), weight)])
    after = weight.numpy()
    decay = 0.05 * float(getattr(optimizer, "weight_decay", None) or 0.0)
    np.testing.assert_allclose(after[ELEMENT], before[ELEMENT] * (1 - decay), rtol=3e-7)
    if not decay:
        assert after[ELEMENT].tobytes() == before[ELEMENT].tobytes()
    assert (after != before)[~ELEMENT].all()
    step()
    assert (weight.numpy() != after).all()


def test_slots_at_attach_and_release_are_fresh(make_optimizer):
    """What was warm before the attach is clean after it, and after release."""
    weight = tf.Variable(np.array([[0.5, -0.5], [1.0, 2.0], [-1.0, 0.25]], "f4"))
    optimizer = make_optimizer()
    gradient = tf.constant(np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]], "f4"))
    for _ in range(2):
        optimizer.apply_gradients([(gradient, weight)])
    frozen = fc.freeze([weight], {"#0": ELEMENT}, optimizer=optimizer)
    for act in (lambda: None, frozen.release):
        act()
        for slot in slots_in(optimizer, weight):
            assert slot[ELEMENT].tobytes() == np.zeros(2, "f4").tobytes()
            assert (slot != 0)[~ELEMENT].all()


def test_slots_of_an_optimizer_that_is_attached_later_are_fresh(make_optimizer):
    """attach() and detach() of a warm optimizer while elements are frozen: both leave their slot entries fresh."""
    weight = tf.Variable(np.array([[0.5, -0.5], [1.0, 2.0], [-1.0, 0.25]], "f4"))
    optimizer = make_optimizer()
    gradient = tf.constant(np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]], "f4"))
    for _ in range(2):
        optimizer.apply_gradients([(gradient, weight)])
    frozen = fc.freeze([weight], {"#0": ELEMENT})
    assert all((slot != 0).all() for slot in slots_in(optimizer, weight))
    for act in (frozen.attach, frozen.detach):
        act(optimizer)
        for slot in slots_in(optimizer, weight):
            assert slot[ELEMENT].tobytes() == np.zeros(2, "f4").tobytes()
            assert (slot != 0)[~ELEMENT].all()


# Exactness of a step that fails --------------------------------------------------------------------------------------


def test_a_step_that_raises_moves_no_frozen_element(kit):
    """An error inside a step, after some weights were written, leaves the frozen elements as they were."""
    model = kit.compiled()
    fit(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    variables = model.trainable_variables
    good = [tf.ones_like(tf.convert_to_tensor(v)) for v in variables]
    bad = good[:-1] + [tf.ones((7,))]
    with pytest.raises(Exception):
        model.optimizer.apply_gradients(zip(bad, variables))
    assert values(model)[0][MASKS["hidden/kernel"]].tobytes() == before[0][MASKS["hidden/kernel"]].tobytes()
    frozen.verify()
    tape_step(model, model.optimizer)
    assert_held_and_free_moved(before, values(model), MASKS, ADDRESSES)
