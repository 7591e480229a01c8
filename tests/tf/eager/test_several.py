"""Several Frozens on one weight, and how they come and go."""

import gc
import itertools
import weakref

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes
from kits import ADDRESSES, MASKS, OTHER, OTHER_MASKS, SPEC, assert_all_moved, assert_held_and_free_moved, fit, values

KITS = kits.kits()


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


FIRST = {"hidden/kernel": [(0, 0), (1, 2)]}
SECOND = {"hidden/kernel": [(1, 2), (3, 1)]}


def mask(*elements):
    found = np.zeros((4, 3), bool)
    for element in elements:
        found[element] = True
    return {"hidden/kernel": found}


def held_in_a_step(model, masks):
    before = values(model)
    model.train_on_batch(kits.X, kits.Y)
    assert_held_and_free_moved(before, values(model), masks)


def test_an_element_is_frozen_while_any_frozen_holds_it(kit):
    """The union is frozen; thaw and release let go of their own only; each has its own masks."""
    model = kit.compiled()
    model.train_on_batch(kits.X, kits.Y)
    first, second = fc.freeze(model, FIRST), fc.freeze(model, SECOND)
    held_in_a_step(model, mask((0, 0), (1, 2), (3, 1)))
    assert first.masks["hidden/kernel"].tolist() == mask((0, 0), (1, 2))["hidden/kernel"].tolist()
    assert second.masks["hidden/kernel"].tolist() == mask((1, 2), (3, 1))["hidden/kernel"].tolist()
    first.thaw()
    assert first.num_frozen == 0 and not first.masks
    held_in_a_step(model, mask((1, 2), (3, 1)))
    second.thaw({"hidden/kernel": [(3, 1)]})
    held_in_a_step(model, mask((1, 2)))
    first.freeze(FIRST)
    second.release()
    held_in_a_step(model, mask((0, 0), (1, 2)))
    first.verify()
    first.release()
    held_in_a_step(model, {})


def test_thawing_what_is_not_frozen_is_a_no_op(kit):
    """Thawing free elements, or those of another Frozen, changes nothing."""
    model = kit.compiled()
    frozen, other = fc.freeze(model, SPEC), fc.freeze(model, OTHER)
    fit(model)
    slots = kits.slots_of(model.optimizer, (4, 3))
    assert frozen.thaw({"hidden/kernel": [(0, 0)], "out/kernel": "all", "out/bias": "all"}) is frozen
    assert frozen.num_frozen == 2 and other.num_frozen == 1
    for before, after in zip(slots, kits.slots_of(model.optimizer, (4, 3))):
        assert after.tobytes() == before.tobytes()
    held_in_a_step(model, dict(MASKS, **OTHER_MASKS))
    frozen.verify()
    other.verify()


def test_freezing_again_what_is_frozen_is_a_no_op(kit):
    """The reference stays: freeze() of the same elements does not rebase."""
    model = kit.compiled()
    frozen = fc.freeze(model, SPEC)
    changed = values(model)
    changed[0][1, 2] = 9.0
    model.set_weights(changed)
    frozen.freeze(SPEC)
    assert frozen.num_frozen == 2
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify()


def test_one_variable_in_two_models_is_one_weight(kit):
    """A layer that two models share is frozen in both, by a freeze of either."""
    keras = kit.keras
    shared = keras.layers.Dense(3, name="hidden", activation="tanh")
    first = keras.Sequential([keras.layers.InputLayer((4,)), shared, keras.layers.Dense(2, name="out")])
    second = keras.Sequential([keras.layers.InputLayer((4,)), shared, keras.layers.Dense(2, name="out")])
    for model in (first, second):
        model.set_weights(kits.WEIGHTS)
        model.compile(optimizer=kit.adam(), loss="mse")
    frozen, other = fc.freeze(first, FIRST), fc.freeze(second, SECOND)
    both = mask((0, 0), (1, 2), (3, 1))
    for model in (first, second):
        held_in_a_step(model, both)
    frozen.verify()
    other.verify()
    frozen.release()
    held_in_a_step(second, mask((1, 2), (3, 1)))
    other.verify()


def test_a_variable_listed_twice_is_one_weight(kit):
    """A list or dict that holds a variable twice has one weight; a dict's second key is an alias."""
    variable = tf.Variable(np.array([1.0, 2.0, 3.0], "f4"), name="weight")
    other = tf.Variable(np.array([1.0, 2.0, 3.0], "f4"), name="other")
    assert [row.ordinal for row in fc.list_weights([variable, other, variable])] == [0, 1]
    assert [row.address for row in fc.list_weights({"a": variable, "b": other, "c": variable})] == ["a", "b"]
    optimizer = kit.adam()
    frozen = fc.freeze({"a": variable, "b": other, "c": variable}, {"c": [1]}, optimizer=optimizer)
    assert list(frozen.masks) == ["a"] and frozen.num_elements == 6
    for _ in range(2):
        optimizer.apply_gradients([(tf.ones(3), variable), (tf.ones(3), other)])
    assert (variable.numpy() != [1, 2, 3]).tolist() == [True, False, True]
    assert (other.numpy() != [1, 2, 3]).all()  # equal values are not the same variable


def test_a_layer_used_twice_is_one_weight(kit):
    """A layer that a model calls twice is listed once and frozen at once in both places."""
    keras = kit.keras
    inputs = keras.layers.Input((3,))
    shared = keras.layers.Dense(3, name="shared")
    model = keras.Model(inputs, keras.layers.Dense(2, name="out")(shared(shared(inputs))))
    assert [row.address for row in fc.list_weights(model)] == ["shared/kernel", "shared/bias", "out/kernel", "out/bias"]
    model.compile(optimizer=kit.adam(), loss="mse")
    frozen = fc.freeze(model, {"shared/kernel": [(0, 0)]})
    before = values(model)
    x, y = np.random.RandomState(1).uniform(-1, 1, (6, 3)).astype("f4"), np.ones((6, 2), "f4")
    for _ in range(2):
        model.train_on_batch(x, y)
    masks = {"shared/kernel": np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]], bool)}
    assert_held_and_free_moved(before, values(model), masks, [row.address for row in fc.list_weights(model)])
    frozen.verify()


@pytest.mark.parametrize("compiled", ["before", "after"])
def test_a_frozen_that_nobody_references_stays_live(kit, compiled):
    """The hook keeps it: the return value of freeze need not be kept, compiled before or after."""
    model = kit.compiled() if compiled == "before" else kit.model()
    fc.freeze(model, SPEC)
    gc.collect()
    if compiled == "after":
        model.compile(optimizer=kit.adam(), loss="mse")
    gc.collect()
    for _ in range(2):
        held_in_a_step(model, MASKS)


def test_a_frozen_of_an_explicit_optimizer_stays_live_too(kit):
    """The same for a list of variables and optimizer=."""
    variable, optimizer = tf.Variable([1.0, 2.0, 3.0]), kit.adam()
    fc.freeze([variable], {"#0": [1]}, optimizer=optimizer)
    gc.collect()
    fc.freeze([variable], {"#0": [0]}, optimizer=optimizer).release()  # the union is made anew
    for _ in range(2):
        optimizer.apply_gradients([(tf.ones(3), variable)])
    assert (variable.numpy() != [1, 2, 3]).tolist() == [True, False, True]


def test_a_frozen_goes_with_its_model(kit):
    """A model and an optimizer that nobody holds any more are collected as they are without us."""

    def alive(attach):
        model = kit.model()
        optimizer = kit.adam()
        if attach:
            fc.freeze(model, SPEC, optimizer=optimizer)
        kits.tape_step(model, optimizer)
        references = weakref.ref(model.layers[-1].kernel), weakref.ref(optimizer)
        del model, optimizer
        kit.keras.backend.clear_session()
        gc.collect()
        return [reference() is not None for reference in references]

    alive(False)  # what ran before may have left something in Keras that goes with the next model
    plain = alive(False)
    assert all(without or not attached for attached, without in zip(alive(True), plain))
    if not runtimes.TF1 and not tf.__version__.startswith("2.0."):
        assert plain == [False, False]


ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.parametrize("order", ORDERS, ids=["".join(map(str, order)) for order in ORDERS])
def test_released_in_any_order_without_a_trace(kit, order):
    """Three Frozens on one model and optimizer: after the last release both have the attributes of before."""
    model = kit.compiled()
    fit(model)
    optimizer = model.optimizer
    attributes = set(vars(model)), set(vars(optimizer))
    specs = [FIRST, SECOND, OTHER]
    several = [fc.freeze(model, spec) for spec in specs]
    held_in_a_step(model, dict(mask((0, 0), (1, 2), (3, 1)), **OTHER_MASKS))
    for k in order:
        several[k].release()
    assert (set(vars(model)), set(vars(optimizer))) == attributes
    before = values(model)
    model.train_on_batch(kits.X, kits.Y)
    assert_all_moved(before, values(model))


def test_another_librarys_hook_under_and_over_ours_survives(kit):
    """What another library put on the instance, before or after us, is called, and stays after release."""
    name = "apply" if kit.name == "keras3" else "apply_gradients"
    calls = []

    def put_a_hook_on(optimizer, label):
        original = getattr(optimizer, name)

        def hook(*args, **kwargs):
            calls.append(label)
            return original(*args, **kwargs)

        vars(optimizer)[name] = hook
        return hook

    model, optimizer = kit.model(), kit.adam()
    under = put_a_hook_on(optimizer, "under")
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    over = put_a_hook_on(optimizer, "over")
    before = values(model)
    kits.tape_step(model, optimizer)
    assert_held_and_free_moved(before, values(model), MASKS)
    assert calls == ["over", "under"]
    frozen.release()
    assert vars(optimizer)[name] is over
    before = values(model)
    kits.tape_step(model, optimizer)
    assert_all_moved(before, values(model))
    assert calls == ["over", "under"] * 2
    vars(optimizer)[name] = under
    kits.tape_step(model, optimizer)
    assert calls[4:] == ["under"]


def test_two_optimizers_of_one_frozen(kit):
    """optimizer=[a, b]: both leave the elements alone; after detach(a) only b does."""
    model, first, second = kit.model(), kit.adam(), kit.momentum()
    frozen = fc.freeze(model, SPEC, optimizer=[first, second])
    for optimizer in (first, second):
        before = values(model)
        kits.tape_step(model, optimizer)
        assert_held_and_free_moved(before, values(model), MASKS)
    assert frozen.detach(first) is frozen
    before = values(model)
    kits.tape_step(model, first)
    assert_all_moved(before, values(model))
    frozen.rebase()
    before = values(model)
    kits.tape_step(model, second)
    assert_held_and_free_moved(before, values(model), MASKS)
    with pytest.raises(ValueError, match="not attached"):
        frozen.detach(first)


def test_an_optimizer_that_one_of_two_detaches_still_holds_for_both(kit):
    """An element is frozen under every optimizer that a live Frozen of it is attached to."""
    model, optimizer = kit.model(), kit.adam()
    first = fc.freeze(model, FIRST, optimizer=optimizer)
    second = fc.freeze(model, SECOND, optimizer=optimizer)
    first.detach(optimizer)
    before = values(model)
    kits.tape_step(model, optimizer)
    assert_held_and_free_moved(before, values(model), mask((0, 0), (1, 2), (3, 1)))
    second.release()
    assert "NOT ATTACHED" in repr(first)
    with pytest.raises(fc.NotAttached):
        first.verify()


def test_after_release_nothing_else_works(kit):
    """release() is idempotent; masks are empty; every other method raises RuntimeError; `with` releases."""
    model = kit.compiled()
    with fc.freeze(model, SPEC) as frozen:
        held_in_a_step(model, MASKS)
    assert frozen.release() is None and frozen.release() is None
    assert dict(frozen.masks) == {} and frozen.num_frozen == 0
    calls = {
        "freeze": lambda: frozen.freeze(SPEC),
        "thaw": lambda: frozen.thaw(),
        "attach": lambda: frozen.attach(model.optimizer),
        "detach": lambda: frozen.detach(model.optimizer),
        "hold": lambda: frozen.hold().__enter__(),
        "mask_gradients": lambda: frozen.mask_gradients([], []),
        "sync": lambda: frozen.sync(),
        "session_hook": lambda: frozen.session_hook(),
        "rebase": lambda: frozen.rebase(),
        "verify": lambda: frozen.verify(),
        "report": lambda: frozen.report(),
        "hold_after": lambda: frozen.hold_after(None),
    }
    for name, call in calls.items():
        with pytest.raises(RuntimeError, match="released"):
            call()
    assert "released" in repr(frozen)
    held_in_a_step(model, {})


def test_a_with_body_that_raises_is_released_and_its_error_comes_through(kit):
    """`__exit__` never masks the body's exception."""
    model = kit.compiled()
    with pytest.raises(KeyError, match="mine"):
        with fc.freeze(model, SPEC):
            raise KeyError("mine")
    held_in_a_step(model, {})


def test_returns(kit):
    """attach, detach, freeze, thaw, sync, rebase and hold's `as` give the Frozen; verify and release None."""
    model, optimizer = kit.model(), kit.adam()
    frozen = fc.freeze(model, SPEC)
    assert frozen.attach(optimizer) is frozen
    assert frozen.freeze(OTHER) is frozen
    assert frozen.thaw(OTHER) is frozen
    assert frozen.sync() is frozen
    assert frozen.rebase() is frozen
    with frozen.hold() as held:
        assert held is frozen
    assert frozen.verify() is None
    assert frozen.detach(optimizer) is frozen
    assert frozen.release() is None
    assert [row.address for row in fc.list_weights(model)] == ADDRESSES


def test_masks_are_read_only_and_in_weight_order(kit):
    """masks: canonical addresses in the order of the weights, arrays and mapping that can't be written."""
    frozen = fc.freeze(kit.model(), {"out/bias": [0], "out/kernel": [(0, 1)], "hidden/kernel": [(1, 2)]})
    assert list(frozen.masks) == ["hidden/kernel", "out/kernel", "out/bias"]
    assert frozen.masks["out/kernel"].tolist() == [[False, True], [False, False], [False, False]]
    assert frozen.masks["out/kernel"].dtype == bool
    with pytest.raises(ValueError):
        frozen.masks["out/kernel"][0, 0] = True
    with pytest.raises(TypeError):
        frozen.masks["out/kernel"] = None
    assert (frozen.num_frozen, frozen.num_free, frozen.num_elements) == (3, 20, 23)
