"""When a freeze acts: whatever comes first, freeze, compile or fit, it acts on the very next step."""

import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import MASKS, OTHER, OTHER_MASKS, SPEC, assert_all_moved, assert_held_and_free_moved, fit, tape_step, values

KITS = kits.kits(tf_train=True)
KERAS_KITS = kits.kits()


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


@pytest.fixture(params=sorted(KERAS_KITS))
def keras_kit(request):
    return KERAS_KITS[request.param]


def train_by_fit(model):
    fit(model)


def train_on_batch(model):
    model.train_on_batch(kits.X, kits.Y)


WAYS = [train_by_fit, train_on_batch]


@pytest.mark.parametrize("train", WAYS)
def test_freeze_before_compile(kit, train):
    """A model that is compiled after the freeze is trained frozen."""
    model = kit.model()
    frozen = fc.freeze(model, SPEC)
    model.compile(optimizer=kit.adam(), loss="mse")
    before = values(model)
    train(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


@pytest.mark.parametrize("train", WAYS)
def test_freeze_after_compile(kit, train):
    """A model that is compiled already is trained frozen."""
    model = kit.compiled(kit.adam())
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    train(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


@pytest.mark.parametrize("train", WAYS)
def test_freeze_after_a_first_fit(kit, train):
    """A train step that Keras has traced already is made anew: warm Adam leaves the elements alone."""
    model = kit.compiled(kit.adam())
    train(model)
    train(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    train(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


def test_a_second_compile_keeps_the_freeze(kit):
    """compile() with a new optimizer: what is frozen stays frozen, and the old optimizer is let go."""
    model = kit.compiled(kit.adam())
    old = model.optimizer
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.compile(optimizer=kit.momentum(), loss="mse")
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
    inner = getattr(old, "optimizer", old) if kit.module is None else old
    assert "apply_gradients" not in vars(inner) and "apply" not in vars(inner)


@pytest.mark.parametrize("train", WAYS)
def test_a_new_model_optimizer_acts_from_the_next_training_call(keras_kit, train):
    """model.optimizer = other: the next fit or train_on_batch trains with it, frozen."""
    model = keras_kit.compiled()
    frozen = fc.freeze(model, SPEC)
    train(model)
    new = keras_kit.momentum()
    if hasattr(new, "build"):
        new.build(model.trainable_variables)
    model.optimizer = new
    before = values(model)
    train(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
    assert type(new).__name__ in repr(frozen)


def test_a_new_model_optimizer_in_a_hand_written_loop_after_attach(keras_kit):
    """In a hand-written loop the new optimizer is attached by hand."""
    model = keras_kit.compiled()
    frozen = fc.freeze(model, SPEC)
    tape_step(model, model.optimizer)
    model.optimizer = keras_kit.momentum()
    frozen.attach(model.optimizer)
    before = values(model)
    tape_step(model, model.optimizer)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "tf.function"])
def test_compile_later_and_a_hand_written_loop(keras_kit, traced):
    """Compiled after the freeze and trained by hand with model.optimizer: the freeze is there."""
    model = keras_kit.model()
    frozen = fc.freeze(model, SPEC)
    model.compile(optimizer=keras_kit.adam(), loss="mse")

    def one_step():
        tape_step(model, model.optimizer)

    step = tf.function(one_step) if traced else one_step
    before = values(model)
    for _ in range(3):
        step()
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


def test_an_explicit_optimizer_stays_attached_beside_the_compiled_one(keras_kit):
    """optimizer= and, later, compile(): both leave the elements alone."""
    model = keras_kit.model()
    mine = keras_kit.adam()
    frozen = fc.freeze(model, SPEC, optimizer=mine)
    model.compile(optimizer=keras_kit.momentum(), loss="mse")
    for train in (lambda: fit(model), lambda: tape_step(model, mine)):
        before = values(model)
        train()
        train()
        assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
    assert repr(frozen).count("Adam") == 1 and repr(frozen).count("SGD") == 1


def test_a_layer_or_a_list_follows_no_model(keras_kit):
    """A layer knows no model: compiling one attaches nothing, until attach()."""
    model = keras_kit.model()
    frozen = fc.freeze(model.layers[-2], {"kernel": [(1, 2), (3, 2)]})
    model.compile(optimizer=keras_kit.adam(), loss="mse")
    assert "NOT ATTACHED" in repr(frozen)
    frozen.attach(model.optimizer)
    before = values(model)
    fit(model)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()


class AtBatch:
    """A callback that does things before given batches and keeps the weights after each batch."""

    def __new__(cls, keras, actions):
        class Callback(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.seen = []
                self.number = 0

            def on_train_batch_end(self, batch, logs=None):
                self.seen.append(values(self.model))
                self.number += 1
                actions.get(self.number, lambda: None)()

        return Callback()


def test_freeze_and_thaw_in_mid_fit_act_on_the_next_batch(kit):
    """A callback freezes after batch 1 and thaws after batch 3 of one fit; every element follows at once."""
    model = kit.compiled(kit.adam())
    frozen = fc.freeze(model, fc.FreezeSpec.empty())
    callback = AtBatch(kit.keras, {1: lambda: frozen.freeze(SPEC), 3: lambda: frozen.thaw()})
    before = values(model)
    fit(model, epochs=2, callbacks=[callback])
    first, second, third, fourth = callback.seen[:4]
    assert_all_moved(before, first)
    assert_held_and_free_moved(first, second, MASKS)
    assert_held_and_free_moved(second, third, MASKS)
    assert_all_moved(third, fourth)
    assert_all_moved(fourth, values(model))


def test_a_first_attach_in_mid_fit_acts_on_the_next_batch(kit):
    """fc.freeze itself called from a callback, after the train step was traced."""
    model = kit.compiled(kit.adam())
    made = []
    callback = AtBatch(kit.keras, {2: lambda: made.append(fc.freeze(model, SPEC))})
    fit(model, epochs=2, callbacks=[callback])
    for earlier, later in zip(callback.seen[1:], callback.seen[2:]):
        assert_held_and_free_moved(earlier, later, MASKS)
    assert_all_moved(callback.seen[0], callback.seen[1])
    made[0].verify()


def test_every_callback_sees_held_values_in_whatever_order(kit):
    """A callback before and one after the one that freezes see the same bytes, after each batch."""
    model = kit.compiled(kit.adam())
    first, last = AtBatch(kit.keras, {}), AtBatch(kit.keras, {})
    frozen = fc.freeze(model, SPEC)
    middle = AtBatch(kit.keras, {2: lambda: frozen.freeze(OTHER)})
    fit(model, epochs=2, callbacks=[first, middle, last])
    for one, other in zip(first.seen, last.seen):
        assert [a.tobytes() for a in one] == [a.tobytes() for a in other]
    for earlier, later in zip(last.seen[1:], last.seen[2:]):
        assert_held_and_free_moved(earlier, later, dict(MASKS, **OTHER_MASKS))


def test_several_steps_in_one_execution(keras_kit):
    """steps_per_execution=3: exact after the three steps, frozen after a first fit too."""
    try:
        model = keras_kit.compiled(steps_per_execution=3)
    except TypeError:
        pytest.skip("this Keras has no steps_per_execution")
    fit(model)
    frozen = fc.freeze(model, SPEC)
    before = values(model)
    fit(model, epochs=2)
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.verify()
    frozen.thaw()
    before = values(model)
    fit(model)
    assert_all_moved(before, values(model))


def test_a_traced_function_is_reached_when_attached_before(keras_kit):
    """An empty freeze before the trace is enough: freeze, thaw, release and a new freeze reach the same trace."""
    model, optimizer = keras_kit.model(), keras_kit.adam()
    traces = []

    @tf.function
    def step():
        traces.append(1)
        return tape_step(model, optimizer)

    frozen = fc.freeze(model, fc.FreezeSpec.empty(), optimizer=optimizer)
    step()
    step()
    traced = len(traces)
    frozen.freeze(SPEC)
    before = values(model)
    step()
    assert_held_and_free_moved(before, values(model), MASKS)
    frozen.thaw()
    before = values(model)
    step()
    assert_all_moved(before, values(model))
    frozen.freeze(SPEC)
    frozen.release()
    before = values(model)
    step()
    assert_all_moved(before, values(model))
    again = fc.freeze(model, OTHER, optimizer=optimizer)
    before = values(model)
    step()
    assert_held_and_free_moved(before, values(model), OTHER_MASKS)
    again.verify()
    assert len(traces) == traced


def traced_before(kit):
    """A model, an optimizer and a step function that was traced before any freeze."""
    model, optimizer = kit.model(), kit.adam()
    step = tf.function(lambda: tape_step(model, optimizer))
    step()
    step()
    return model, optimizer, step


def test_a_function_traced_before_is_never_silent(keras_kit):
    """A step that can't be reached: verify() and the next freeze() raise StepBypassed, report() has a line."""
    model, optimizer, step = traced_before(keras_kit)
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    frozen.verify()
    held = values(model)
    step()
    with pytest.raises(fc.StepBypassed) as caught:
        frozen.verify()
    moved = caught.value
    assert isinstance(moved, fc.FrozenWeightsMoved)
    assert (moved.weight, moved.element, len(moved.moved)) == ("hidden/kernel", (1, 2), 2)
    assert moved.before == held[0][1, 2] and moved.now == values(model)[0][1, 2]
    assert "traced" in str(moved)
    with pytest.raises(fc.StepBypassed):
        frozen.freeze(OTHER)
    assert frozen.num_frozen == 2  # the refused freeze changed nothing
    assert "Adam has taken 1 step that the freeze did not see" in str(frozen.report())
    frozen.rebase()
    frozen.verify()
    assert "did not see" not in str(frozen.report())
    frozen.freeze(OTHER)


def test_setting_iterations_is_a_line_of_the_report_only(keras_kit):
    """A step count that was set looks like steps: report() says so, verify() and freeze() do not raise."""
    model = keras_kit.compiled()
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.optimizer.iterations.assign(100)
    frozen.verify()
    frozen.freeze(OTHER)
    assert "97 steps that the freeze did not see" in str(frozen.report())
    fit(model)
    frozen.verify()


def test_counted_steps_are_no_line_of_the_report(keras_kit):
    """Steps in fit, train_on_batch, a loop and a traced function are all counted."""
    model = keras_kit.compiled()
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.train_on_batch(kits.X, kits.Y)
    tape_step(model, model.optimizer)
    step = tf.function(lambda: tape_step(model, model.optimizer))
    step()
    step()
    assert frozen.report().notes == ()


def test_metrics_and_history_are_kept(kit):
    """A freeze between two fits changes no loss value and loses no compiled metric; nor does a thaw."""

    def histories(act):
        model = kit.compiled(kit.adam(), metrics=["mae"])
        found = [fit(model, epochs=2).history]
        act(model)
        found.append(fit(model, epochs=2).history)
        found.append(dict(zip(["loss", "mae"], model.evaluate(kits.X, kits.Y, verbose=0))))
        return found

    plain = histories(lambda model: None)
    attached = histories(lambda model: fc.freeze(model, fc.FreezeSpec.empty()))
    thawed = histories(lambda model: fc.freeze(model, SPEC).release())
    assert set(plain[0]) >= {"loss"} and len(plain[0]) >= 2
    assert attached == plain
    # A freeze and release between the fits sets slots back: only keys and the first fit are equal.
    assert thawed[0] == plain[0] and set(thawed[1]) == set(plain[1])


def test_the_optimizers_variable_set_never_changes(keras_kit):
    """Freezing and thawing adds, drops and renames no optimizer variable, so none is ever unknown."""
    model = keras_kit.compiled()
    fit(model)
    listed = kits.optimizer_variables(model.optimizer)
    names = [v.name for v in listed]
    frozen = fc.freeze(model, SPEC)

    def unchanged():
        now = kits.optimizer_variables(model.optimizer)
        assert [v.name for v in now] == names
        assert all(one is other for one, other in zip(now, listed)) and len(now) == len(listed)

    unchanged()
    for act in (lambda: frozen.freeze(OTHER), lambda: frozen.thaw(SPEC), frozen.release):
        fit(model)
        act()
        unchanged()
    fit(model)
    unchanged()
