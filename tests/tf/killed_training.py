"""Training that is killed again and again, and goes on each time from what it saved: `python killed_training.py FOLDER WAY`.

TensorFlow is imported once; each attempt is a fork of this process, made before TensorFlow has started any thread. The last
attempt is left to finish. FOLDER/killed.npz and FOLDER/uninterrupted.npz have what both runs end with.
"""

import json
import os
import signal
import sys
import threading
import traceback

import numpy as np
import tensorflow as tf

import freezecompat as fc

v1 = tf.compat.v1
GRAPH = os.environ.get("FREEZECOMPAT_MODE") == "graph"
(v1.disable_eager_execution if GRAPH else v1.enable_eager_execution)()

import kits  # noqa: E402, after the switch, since it asks for the mode

STEPS = 10
FROZEN = "frozen.npz"


def starts_at(folder, step):
    """Keep at which step an attempt began, for the test to see that it did go on."""
    with open(os.path.join(folder, "starts"), "a") as file:
        file.write("{}\n".format(step))


class Death:
    """When an attempt is to die: after a step, or some seconds after its second save has begun."""

    def __init__(self, step=None, into_saving=None):
        self.step, self.into_saving, self.saves = step, into_saving, 0

    def after_step(self, step):
        if step == self.step:
            self._now()

    def saving(self):
        self.saves += 1
        if self.into_saving is not None and self.saves == 2:
            threading.Timer(self.into_saving, self._now).start()

    def _now(self):
        os.kill(os.getpid(), signal.SIGKILL)


NEVER = Death()
AFTER_A_STEP = [Death(step=3), Death(step=5)]
DEATHS = [Death(step=3), Death(into_saving=0.0005), Death(into_saving=0.003), Death(into_saving=0.01)]


# One layer, and inputs of which one is 1 and the others 0: no sum depends on its order, which TensorFlow may choose by
# where in memory the numbers are.
ADDRESSES, WEIGHTS = kits.ADDRESSES[:2], kits.WEIGHTS[:2]
Y = np.array([[1.0, -1.0, 0.5], [0.5, 0.25, -0.75], [-0.5, 1.0, 0.25], [0.75, -0.25, -1.0]], "f4")


def batch(step):
    rows = [step % 2 * 2, step % 2 * 2 + 1]
    return np.eye(4, dtype="f4")[rows], Y[rows]


def model_of(kit):
    model = kit.keras.Sequential([kit.keras.layers.InputLayer((4,)), kit.keras.layers.Dense(3, name="hidden")])
    model.set_weights(WEIGHTS)
    return model


def frozen_again(model, folder, **options):
    """The freeze of an attempt: a new one, or the one that the first attempt has saved."""
    path = os.path.join(folder, FROZEN)
    if os.path.exists(path):
        return fc.restore(model, path, **options)
    frozen = fc.freeze(model, kits.SPEC, **options)
    frozen.save(path)
    return frozen


def compiled(kit, optimizer):
    model = model_of(kit)
    model.compile(
        optimizer=optimizer, loss=kit.keras.losses.MeanSquaredError()
    )  # "mse" can't be loaded from every file
    return model


# Eager mode: each function trains in a folder to the last step and gives the arrays that it ends with -----------------


def checkpoint_manager(kit, folder, death):
    """tf.train.Checkpoint and CheckpointManager, in a loop."""
    model, optimizer, step = model_of(kit), kit.adam(), tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    manager = tf.train.CheckpointManager(checkpoint, os.path.join(folder, "checkpoints"), max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    frozen = frozen_again(model, folder, optimizer=optimizer)
    starts_at(folder, int(step))
    while int(step) < STEPS:
        kits.tape_step(model, optimizer, *batch(int(step)))
        step.assign_add(1)
        death.after_step(int(step))
        death.saving()
        manager.save()
    frozen.verify()
    return ending(model, optimizer)


def an_epoch_a_file(kit, folder, death, suffix, optimizer, load, callbacks):
    """fit, an epoch of one batch at a time, and a file for each: a save that was killed leaves a broken one behind."""
    model, done = None, 0
    for name in sorted((name for name in os.listdir(folder) if name.startswith("at-")), reverse=True):
        try:
            model = load(os.path.join(folder, name))
        except Exception as error:  # whatever Keras says of a broken file
            print("broken: {}: {!r}".format(name, error), file=sys.stderr)
            continue
        done = int(name[3:6])
        break
    model = compiled(kit, optimizer()) if model is None else model
    frozen = frozen_again(model, folder)
    starts_at(folder, done)
    callbacks = [Dies(kit, death)] + callbacks(os.path.join(folder, "at-{epoch:03d}" + suffix))
    for step in range(done, STEPS):
        model.fit(*batch(step), batch_size=2, epochs=step + 1, initial_epoch=step, verbose=0, callbacks=callbacks)
    frozen.verify()
    return ending(model, model.optimizer)


def whole_model(suffix):
    """ModelCheckpoint of models, their optimizers included."""

    def train(kit, folder, death):
        def callbacks(path):
            return [kit.keras.callbacks.ModelCheckpoint(path)]

        return an_epoch_a_file(kit, folder, death, suffix, kit.adam, kit.keras.models.load_model, callbacks)

    return train


def weights_only(suffix):
    """ModelCheckpoint of weights; without slots, since not all of these files hold any."""

    def train(kit, folder, death):
        def load(path):
            model = compiled(kit, kit.sgd())
            model.load_weights(path)
            return model

        def callbacks(path):
            return [kit.keras.callbacks.ModelCheckpoint(path, save_weights_only=True)]

        return an_epoch_a_file(kit, folder, death, suffix, kit.sgd, load, callbacks)[:2]

    return train


def saved_model(kit, folder, death):
    """model.save(..., save_format="tf"); without slots, which tf-keras does not load from there."""

    class Saves(kit.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.save(self.path.format(epoch=epoch + 1), save_format="tf")

    def callbacks(path):
        saves = Saves()
        saves.path = path
        return [saves]

    return an_epoch_a_file(kit, folder, death, "", kit.sgd, kit.keras.models.load_model, callbacks)[:2]


def backup_and_restore(kit, folder, death):
    """BackupAndRestore, which loads the weights when fit begins: after the freeze."""
    model = compiled(kit, kit.adam())
    frozen = frozen_again(model, folder)
    backup = kit.keras.callbacks.BackupAndRestore(os.path.join(folder, "backup"))
    dies = Dies(kit, death)
    x, y = (np.concatenate(arrays) for arrays in zip(*map(batch, range(2))))
    model.fit(x, y, batch_size=2, shuffle=False, epochs=STEPS, verbose=0, callbacks=[dies, backup])
    starts_at(folder, dies.first)
    frozen.verify()
    return ending(model, model.optimizer)


class _Dies:
    first = None

    def on_epoch_begin(self, epoch, logs=None):
        self.first = epoch if self.first is None else self.first

    def on_epoch_end(self, epoch, logs=None):
        self.death.after_step(epoch + 1)
        self.death.saving()


def Dies(kit, death):
    callback = type("Dies", (_Dies, kit.keras.callbacks.Callback), {})()
    callback.death = death
    return callback


def ending(model, optimizer):
    """Weights, and then all that the optimizer remembers, in an order of ours: restored, OptimizerV2 lists it in another."""
    remembered = [kits.array(variable) for variable in kits.optimizer_variables(optimizer)]
    return kits.values(model) + sorted(remembered, key=lambda array: (array.shape, array.tobytes()))


# Graph mode -----------------------------------------------------------------------------------------------------------


class Graph:
    """The model as a TF1 graph, trained with Adam; an empty freeze first, so that any other one can follow."""

    def __init__(self):
        self.x, self.y = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 3])
        kernel, bias = variables = [v1.get_variable(name, initializer=value) for name, value in zip("ab", WEIGHTS)]
        self.step = v1.train.get_or_create_global_step()
        self.optimizer = v1.train.AdamOptimizer(0.05)
        self.target = dict(zip(ADDRESSES, variables))
        self.attached = fc.freeze(self.target, fc.FreezeSpec.empty(), optimizer=self.optimizer)
        self.train_op = self.optimizer.minimize(
            tf.reduce_mean(tf.square(tf.matmul(self.x, kernel) + bias - self.y)), global_step=self.step
        )

    def run(self, session, step):
        x, y = batch(step)
        session.run(self.train_op, {self.x: x, self.y: y})

    def frozen_again(self, session, folder):
        path = os.path.join(folder, FROZEN)
        if os.path.exists(path):
            return fc.restore(self.target, path, optimizer=self.optimizer, session=session)
        frozen = fc.freeze(self.target, kits.SPEC, optimizer=self.optimizer, session=session)
        frozen.save(path, session=session)
        return frozen

    def ending(self, session):
        variables = list(self.target.values())
        others = [variable for variable in v1.global_variables() if all(variable is not one for one in variables)]
        return session.run(variables + sorted(others, key=lambda variable: variable.name))


def saver(version):
    def train(folder, death):
        graph = Graph()
        saver = v1.train.Saver(write_version=version, max_to_keep=2)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            latest = v1.train.latest_checkpoint(folder)
            if latest:
                saver.restore(session, latest)
            frozen = graph.frozen_again(session, folder)
            first = session.run(graph.step)
            starts_at(folder, first)
            for step in range(first, STEPS):
                graph.run(session, step)
                death.after_step(step + 1)
                death.saving()
                saver.save(session, os.path.join(folder, "model"), global_step=graph.step)
            frozen.verify(session)
            return graph.ending(session)

    return train


def monitored(folder, death):
    """MonitoredTrainingSession's own checkpoints."""
    graph = Graph()
    checkpoints = os.path.join(folder, "checkpoints")

    class Refreeze(v1.train.SessionRunHook):
        def after_create_session(self, session, coord):
            self.frozen = graph.frozen_again(session, folder)

    class Saving(v1.train.CheckpointSaverListener):
        def before_save(self, session, step):
            death.saving()

    class Dying(v1.train.SessionRunHook):
        def after_run(self, context, values):
            death.after_step(context.session.run(graph.step))

    refreeze = Refreeze()
    every_step = v1.train.CheckpointSaverHook(checkpoints, save_steps=1, listeners=[Saving()])
    with v1.train.MonitoredTrainingSession(
        hooks=[refreeze, Dying(), every_step],
        checkpoint_dir=checkpoints,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
    ) as session:
        raw = session._tf_sess()
        first = raw.run(graph.step)
        starts_at(folder, first)
        for step in range(first, STEPS):
            graph.run(session, step)
        refreeze.frozen.verify(session)
        return graph.ending(raw)


# All ways -------------------------------------------------------------------------------------------------------------


def ways():
    """{name: function of a folder and a death}."""
    if GRAPH:
        return {
            "saver-v1": saver(v1.train.SaverDef.V1),
            "saver-v2": saver(v1.train.SaverDef.V2),
            "monitored-session": monitored,
        }
    found = {}
    for name, kit in kits.kits().items():
        keras3 = name == "keras3"
        trains = {"checkpoint-manager": checkpoint_manager}
        if keras3:  # it trains no model that it has loaded from .h5
            trains["keras"], trains["weights-h5"] = whole_model(".keras"), weights_only(".weights.h5")
        else:
            trains["h5"], trains["weights-h5"] = whole_model(".h5"), weights_only(".h5")
            trains["saved-model"] = saved_model
        if hasattr(kit.keras.callbacks, "BackupAndRestore"):
            trains["backup"] = backup_and_restore
        for way, train in trains.items():
            found["{}-{}".format(name, way)] = lambda folder, death, kit=kit, train=train: train(kit, folder, death)
    return found


def attempt(train, folder, death, result):
    """Train in a fork; gives the signal that ended it, 0 if none did."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            np.savez(result, *train(folder, death))
        except Exception:
            traceback.print_exc()
            code = 1
        os._exit(code)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and status:
        raise SystemExit("an attempt failed")
    return os.WTERMSIG(status)


def main(folder, way):
    train = ways()[way]
    # Keras 3's BackupAndRestore writes over its one file: killed while it does so, it can't read that again, with us or not.
    deaths = AFTER_A_STEP if way == "keras3-backup" else DEATHS
    for run, each in (("killed", deaths + [NEVER]), ("uninterrupted", [NEVER])):
        os.mkdir(os.path.join(folder, run))
        result = os.path.join(folder, run + ".npz")
        signals = [attempt(train, os.path.join(folder, run), death, result) for death in each]
        if run == "killed":
            print(json.dumps(signals))


if __name__ == "__main__":
    main(*sys.argv[1:])
