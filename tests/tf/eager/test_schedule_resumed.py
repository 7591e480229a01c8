"""A training with a schedule that is stopped and made anew: each byte is that of the uninterrupted one."""

import pytest

import freezecompat as fc
import kits
import runtimes
import schedules
from freezecompat.elements import smallest
from schedules import BY_STEPS, STEPS, fit, loop, same, started, state


@pytest.mark.parametrize("name", sorted(schedules.loops()))
def test_in_a_loop(name, tmp_path):
    """After 7 steps, with a checkpoint and the file: weights, slots, counts and frozen elements, then and after 10 steps."""
    make = schedules.loops()[name]
    whole, frozen = started(make)
    run = BY_STEPS.on(frozen)
    loop(whole, run, range(7))
    frozen.save(tmp_path / "frozen.npz")
    checkpoint = state(whole)
    loop(whole, run, range(7, STEPS))

    program = make()
    schedules.load(program, checkpoint)
    resumed = fc.restore(program.target, tmp_path / "frozen.npz", optimizer=program.optimizer)
    again = BY_STEPS.on(resumed)
    assert same(state(program), checkpoint) and again.done["steps"] == 7
    loop(program, again, range(7, STEPS))
    assert same(state(program), state(whole)) and again.done == run.done
    schedules.assert_frozen(resumed, dict(frozen.masks))


@pytest.mark.parametrize("name", sorted(schedules.fits()))
def test_without_the_file(name):
    """Between two epochs of fit: what depends on no values is known from the count of the optimizer."""
    make = schedules.fits()[name]
    schedule = (
        fc.Schedule().thaw({"table": "all"}, step=3).freeze({"mix": "all"}, epoch=1).thaw({"kernel": (0, 0)}, step=7)
    )
    whole, frozen = started(make)
    fit(whole, schedule.on(frozen), 1)
    checkpoint = state(whole)
    fit(whole, schedule.on(frozen), 2, initial_epoch=1)

    program, resumed = started(make)
    schedules.load(program, checkpoint)
    fit(program, schedule.on(resumed), 2, initial_epoch=1)
    assert same(state(program), state(whole))
    schedules.assert_frozen(resumed, dict(frozen.masks))


WITH_BACKUP = [
    name for name, keras in runtimes.keras_packages().items() if hasattr(keras.callbacks, "BackupAndRestore")
]


@pytest.mark.parametrize("package", WITH_BACKUP[:1])  # TF 1.15 has none; tf_keras is the code of tf.keras 2.15
def test_with_backup_and_restore(package, tmp_path):
    """Keras restores weights, slots and count when the training begins: later than fc.restore and schedule.on."""
    kit = kits.kits()[package]
    path, backup = tmp_path / "frozen.npz", kit.keras.callbacks.BackupAndRestore(str(tmp_path / "backup"))
    schedule = (
        fc.Schedule()
        .freeze({"hidden/kernel": (0, 0)}, step=2)
        .freeze({"out/kernel": smallest(0.5)}, epoch=1)
        .thaw({"hidden/kernel": "all"}, step=5)
    )

    class SaveAndCrash(kit.keras.callbacks.Callback):
        def __init__(self, crash_at):
            super().__init__()
            self.crash_at = crash_at

        def on_train_batch_end(self, batch, logs=None):
            if run.done["steps"] == self.crash_at:
                raise KeyboardInterrupt

        def on_epoch_end(self, epoch, logs=None):
            frozen.save(path)

    whole = kit.compiled()
    frozen = fc.freeze(whole, fc.FreezeSpec.empty())
    kits.fit(whole, epochs=3, callbacks=[schedule.on(frozen)])
    wanted = dict(frozen.masks)

    model = kit.compiled()
    frozen = fc.freeze(model, fc.FreezeSpec.empty())
    run = schedule.on(frozen)
    with pytest.raises(KeyboardInterrupt):
        kits.fit(model, epochs=3, callbacks=[run, SaveAndCrash(4), backup])
    model = kit.compiled()
    frozen = fc.restore(model, path, accept_differing=True)
    run = schedule.on(frozen)
    kits.fit(model, epochs=3, callbacks=[run, SaveAndCrash(None), backup])
    assert same(kits.values(model), kits.values(whole))
    schedules.assert_frozen(frozen, wanted)
    assert (run.done["steps"], run.done["epochs"]) == (9, 3)
