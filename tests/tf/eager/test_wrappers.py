"""Loss scaling: gradients are selected at the outermost optimizer, so that a frozen NaN skips no step."""

import warnings

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import MASKS, SPEC, assert_held_and_free_moved, fit, values

SCALE = 1024.0


def wrappers():
    """{id: (kit, function that wraps an optimizer)}."""
    found = {}
    for name, kit in kits.kits().items():
        if name == "keras3":
            make = kit.keras.optimizers.LossScaleOptimizer
            found[name] = kit, lambda inner, make=make: make(inner, initial_scale=SCALE, dynamic_growth_steps=1000)
            continue
        mixed = getattr(kit.keras, "mixed_precision", None)
        make = getattr(mixed, "LossScaleOptimizer", None)
        if make is not None:
            found[name] = kit, lambda inner, make=make: make(inner, initial_scale=SCALE, dynamic_growth_steps=1000)
            continue
        experimental = getattr(mixed, "experimental", None)  # TF 1.15
        make = getattr(experimental, "LossScaleOptimizer", None)
        if make is not None:
            scale = tf.compat.v1.train.experimental.DynamicLossScale
            found[name] = kit, lambda inner, make=make, scale=scale: make(inner, scale(SCALE))
    return found


WRAPPERS = wrappers()


@pytest.fixture(params=sorted(WRAPPERS))
def wrapper(request):
    return WRAPPERS[request.param]


def inner_of(outer):
    return getattr(outer, "inner_optimizer", None) or outer._optimizer


def scale_of(outer):
    scale = getattr(outer, "dynamic_scale", None)
    if scale is None:
        scale = outer.loss_scale() if callable(outer.loss_scale) else outer.loss_scale
    return float(kits.array(scale)) if hasattr(scale, "assign") else float(scale)


def steps_of(outer):
    return int(kits.array(inner_of(outer).iterations))


@pytest.mark.parametrize("given", ["compiled", "inner", "outer"])
@pytest.mark.parametrize("when", ["freeze first", "compile first"])
def test_a_compiled_loss_scale_optimizer(wrapper, given, when):
    """Found through compile, or given as the inner or the outer one: the elements are held and the rest trains."""
    kit, wrap = wrapper
    inner = kit.adam()
    outer = wrap(inner)
    model = kit.model()
    optimizer = {"compiled": None, "inner": inner, "outer": outer}[given]
    if when == "compile first":
        model.compile(optimizer=outer, loss="mse")
        fit(model)
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    if when == "freeze first":
        model.compile(optimizer=outer, loss="mse")
    if when == "compile first":
        assert frozen.report().attached_to == (type(outer).__name__,)
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
    assert frozen.report().notes == ()
    assert scale_of(outer) == SCALE and steps_of(outer) == (6 if when == "compile first" else 3)
    frozen.release()
    name = "apply" if kit.name == "keras3" else "apply_gradients"
    assert name not in vars(outer) and name not in vars(inner)


def apply(model, outer, gradients):
    """A hand-written step with gradients that are given: scaled, as the outer optimizer expects them."""
    outer.apply_gradients(zip([tf.constant(g) for g in gradients], model.trainable_variables))


GRADIENTS = [np.full(array.shape, k + 1.0, "f4") for k, array in enumerate(kits.WEIGHTS)]


@pytest.mark.parametrize("given", ["outer", "inner", "inner of the compiled"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38], ids=["nan", "inf", "huge"])
def test_a_frozen_bad_gradient_skips_no_step(wrapper, given, bad):
    """NaN in a frozen gradient: the step is taken, the scale stays, free elements are as with a gradient of 0."""
    kit, wrap = wrapper
    mask = MASKS["hidden/kernel"]
    found = []
    for value in (0.0, bad):
        model = kit.model()
        outer = wrap(kit.adam())
        if given == "inner of the compiled":
            model.compile(optimizer=outer, loss="mse")
        frozen = fc.freeze(model, SPEC, optimizer=outer if given == "outer" else inner_of(outer))
        first = np.where(mask, np.float32(value), GRADIENTS[0])
        for step in range(3):
            before = values(model)
            apply(model, outer, [first] + GRADIENTS[1:])
            assert_held_and_free_moved(before, values(model), MASKS)
        assert steps_of(outer) == 3 and scale_of(outer) == SCALE
        frozen.verify()
        assert frozen.report().notes == ()
        found.append(values(model) + [kits.array(v) for v in kits.optimizer_variables(inner_of(outer))])
    for one, other in zip(*found):
        assert one.tobytes() == other.tobytes()


def test_a_wrapper_made_after_the_freeze_is_told_of(wrapper):
    """The step of the inner optimizer holds; verify(), report() and freeze say what to attach, until it is."""
    kit, wrap = wrapper
    model, inner = kit.model(), kit.adam()
    frozen = fc.freeze(model, SPEC, optimizer=inner)
    outer = wrap(inner)
    frozen.verify()
    assert frozen.report().notes == ()
    before = values(model)
    apply(model, outer, GRADIENTS)
    assert_held_and_free_moved(before, values(model), MASKS)
    with pytest.warns(UserWarning, match="frozen.attach"):
        frozen.verify()
    with pytest.warns(UserWarning, match="skip a step"):
        frozen.freeze({"out/bias": "all"})
    assert any(type(outer).__name__ in note for note in frozen.report().notes)
    frozen.attach(outer)
    first = np.where(MASKS["hidden/kernel"], np.float32(np.nan), GRADIENTS[0])
    apply(model, outer, [first] + GRADIENTS[1:])
    assert steps_of(outer) == 2 and scale_of(outer) == SCALE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frozen.verify()
    assert frozen.report().notes == ()
    frozen.detach(inner)
    name = "apply" if kit.name == "keras3" else "apply_gradients"
    assert name not in vars(outer) and name not in vars(inner)


def test_a_free_nan_gradient_still_skips_the_step(wrapper):
    """Loss scaling itself works on: a NaN in a free element's gradient skips the step and halves the scale."""
    kit, wrap = wrapper
    first = GRADIENTS[0].copy()
    first[0, 0] = np.nan
    counts = []
    for attach in (False, True):
        model, outer = kit.model(), wrap(kit.adam())
        frozen = fc.freeze(model, SPEC, optimizer=outer) if attach else None
        apply(model, outer, GRADIENTS)
        before = values(model)
        apply(model, outer, [first] + GRADIENTS[1:])
        assert [a.tobytes() for a in values(model)] == [a.tobytes() for a in before]
        assert scale_of(outer) == SCALE / 2
        counts.append(steps_of(outer))  # Keras 2 counts a step that it skips, Keras 3 does not
    assert counts[0] == counts[1]
    frozen.verify()
    assert frozen.report().notes == ()


def test_slots_of_the_inner_optimizer_are_fresh(wrapper):
    """Freezing and thawing reset the slots of the optimizer inside the wrapper."""
    kit, wrap = wrapper
    model, outer = kit.model(), wrap(kit.adam())
    frozen = fc.freeze(model, fc.FreezeSpec.empty(), optimizer=outer)
    apply(model, outer, GRADIENTS)
    mask = MASKS["hidden/kernel"]
    warm = kits.slots_of(inner_of(outer), (4, 3))
    assert len(warm) == 2 and all((slot != 0).all() for slot in warm)
    frozen.freeze(SPEC)
    for _ in range(2):
        for slot in kits.slots_of(inner_of(outer), (4, 3)):
            assert slot[mask].tobytes() == np.zeros(2, "f4").tobytes() and (slot != 0)[~mask].all()
        apply(model, outer, GRADIENTS)


def test_an_inner_optimizer_given_alone_is_exact(wrapper):
    """Only the inner one is known and the outer one is called: exact all the same."""
    kit, wrap = wrapper
    model, inner = kit.model(), kit.adam()
    frozen = fc.freeze(model, SPEC, optimizer=inner)
    outer = wrap(inner)
    for _ in range(2):
        before = values(model)
        apply(model, outer, GRADIENTS)
        assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
