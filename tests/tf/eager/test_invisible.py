"""Nothing else changes: what is imported, classes, losses, variable lists, files; fifty steps: test_nothing_else_changes.py."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
from kits import MASKS, SPEC, assert_held_and_free_moved, fit, values
from saved import SAVES

KITS = kits.kits()
v1 = tf.compat.v1


@pytest.fixture(params=sorted(KITS))
def kit(request):
    return KITS[request.param]


def test_importing_the_package_imports_no_framework():
    """`import freezecompat` imports no TensorFlow, Keras, matplotlib or rich, and sets no environment variable."""
    code = (
        "import os, sys; before = dict(os.environ); import freezecompat; "
        "found = {name.split('.')[0] for name in sys.modules}; "
        "found &= {'tensorflow', 'keras', 'tf_keras', 'matplotlib', 'rich'}; "
        "assert not found, found; assert dict(os.environ) == before; print('clean')"
    )
    root = os.path.dirname(os.path.dirname(fc.__file__))
    environment = dict(os.environ, PYTHONPATH=root)
    result = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert result.stdout.decode().strip() == "clean", result.stderr.decode()


def class_attributes(*objects):
    found = {}
    for obj in objects:
        for base in type(obj).__mro__:
            if base is not object:
                found[base] = dict(vars(base))
    return found


def test_no_class_is_touched(kit):
    """No class of the model or of the optimizer has another attribute while frozen, in training, or after release."""
    model = kit.compiled()
    fit(model)
    objects = [model, model.optimizer, model.layers[-1], model.weights[0], tf.Variable(1.0)]
    before = class_attributes(*objects)
    environment = dict(os.environ)

    def unchanged():
        now = class_attributes(*objects)
        assert list(now) == list(before)
        for base in before:
            assert set(now[base]) == set(before[base])
            for name in before[base]:
                if not name.startswith(("_abc_", "__abc", "_tf_api")):
                    assert now[base][name] is before[base][name], "{}.{}".format(base, name)
        assert dict(os.environ) == environment

    frozen = fc.freeze(model, SPEC)
    unchanged()
    fit(model)
    unchanged()
    frozen.verify()
    frozen.release()
    unchanged()


def listing(model):
    optimizer = model.optimizer
    return {
        "weights": [(id(v), v.name, tuple(v.shape), bool(v.trainable)) for v in model.weights],
        "trainable": [id(v) for v in model.trainable_variables],
        "optimizer": [(id(v), v.name) for v in kits.optimizer_variables(optimizer)],
        "layers": [(id(layer), layer.name, layer.trainable) for layer in model.layers],
        "count": model.count_params(),
    }


def test_lists_and_names_are_untouched(kit):
    """Weights, names, order, flags and optimizer variables: the same objects while frozen and after release."""
    model = kit.compiled()
    fit(model)
    before = listing(model)
    attributes = set(vars(model)), set(vars(model.optimizer))
    config = repr(model.optimizer.get_config())
    frozen = fc.freeze(model, SPEC)
    for act in (lambda: None, lambda: fit(model), frozen.thaw, frozen.release):
        act()
        assert listing(model) == before
    assert (set(vars(model)), set(vars(model.optimizer))) == attributes
    assert repr(model.optimizer.get_config()) == config


def test_losses_are_those_of_a_model_without_us(kit):
    """The first loss of a frozen model, and what evaluate and predict give, are the same numbers."""
    plain, model = kit.compiled(metrics=["mae"]), kit.compiled(metrics=["mae"])
    fc.freeze(model, SPEC)
    assert model.evaluate(kits.X, kits.Y, verbose=0) == plain.evaluate(kits.X, kits.Y, verbose=0)
    assert model.predict(kits.X, verbose=0).tobytes() == plain.predict(kits.X, verbose=0).tobytes()
    assert model.train_on_batch(kits.X, kits.Y) == plain.train_on_batch(kits.X, kits.Y)


def test_step_counts_and_schedules_go_on(kit):
    """iterations advances once a step, and a learning-rate schedule that reads it sees the same steps."""
    schedule = kit.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=1, decay_rate=0.5)
    model = kit.compiled(kit.module.SGD(schedule))
    frozen = fc.freeze(model, SPEC)
    rates = []
    for _ in range(3):
        before = values(model)
        x = kits.X
        predicted = model(x).numpy()
        gradient = (2 * (predicted - kits.Y) / predicted.size).sum(axis=0)
        model.train_on_batch(x, kits.Y)
        rates.append(((before[3] - values(model)[3]) / gradient).mean())
    np.testing.assert_allclose(rates, [0.1, 0.05, 0.025], rtol=1e-3)
    assert int(kits.array(model.optimizer.iterations)) == 3
    frozen.verify()


# Files ---------------------------------------------------------------------------------------------------------------


def trained(kit, how):
    kit.keras.backend.clear_session()
    model = kit.compiled()
    frozen = fc.freeze(model, fc.FreezeSpec.empty()) if how != "plain" else None
    fit(model)
    if how == "frozen":
        frozen.freeze(SPEC)
        frozen.verify()
    if how == "released":
        frozen.release()
    # The slots of what is frozen are fresh: give all three the same values, so that only the structure can differ.
    for variable in kits.optimizer_variables(model.optimizer):
        if tuple(variable.shape) == (4, 3):
            variable.assign(np.full((4, 3), 0.5, "f4"))
    return model


@pytest.mark.parametrize("save", SAVES)
def test_files_are_as_without_us(kit, save, tmp_path):
    """Names, order and bytes of what is saved are the same plain, frozen and released."""
    ways = ["plain", "frozen", "released"]
    contents = {how: save(trained(kit, how), os.path.join(str(tmp_path), how)) for how in ways}
    assert len(repr(contents["plain"])) > 200
    assert contents["frozen"] == contents["plain"]
    assert contents["released"] == contents["plain"]


@pytest.mark.parametrize("saved_frozen", [True, False], ids=["frozen to plain", "plain to frozen"])
@pytest.mark.parametrize("format", ["h5", "checkpoint"])
def test_loadable_frozen_to_plain_and_back(kit, format, saved_frozen, tmp_path):
    """Weights saved frozen load into a plain model and the other way round, and train on as they should."""
    path = os.path.join(str(tmp_path), "saved")
    source, other = trained(kit, "plain"), kit.compiled()
    frozen = fc.freeze(source if saved_frozen else other, SPEC)
    if format == "h5":
        source.save_weights(path + ".weights.h5")
        other.load_weights(path + ".weights.h5")
    else:
        tf.train.Checkpoint(model=other).restore(tf.train.Checkpoint(model=source).save(path))
    for one, two in zip(values(source), values(other)):
        assert one.tobytes() == two.tobytes()
    if not saved_frozen:
        frozen.rebase()
    for model, masks in ((source, MASKS if saved_frozen else {}), (other, {} if saved_frozen else MASKS)):
        before = values(model)
        fit(model)
        assert_held_and_free_moved(before, values(model), masks)
    frozen.verify()


def nesterov(kit):
    if isinstance(kit, kits.TrainKit):
        return v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)
    return kit.module.SGD(0.1, momentum=0.9, nesterov=True)


@pytest.mark.parametrize("make", [nesterov, kits.Kit.momentum, kits.Kit.adam], ids=["nesterov", "momentum", "adam"])
def test_a_traced_step_rounds_as_without_us(kit, make):
    """TensorFlow makes one sum of w + (a + b) where it sees both additions, as those of Nesterov's momentum."""
    start, *gradients = np.random.RandomState(0).randn(4, 30, 40).astype("f4")

    def trained(freeze):
        variable = tf.Variable(start)
        optimizer = make(kit)
        if freeze:
            fc.freeze([variable], {"#0": [(0, 0), (29, 39)]}, optimizer=optimizer)
        if hasattr(optimizer, "build"):
            optimizer.build([variable])

        @tf.function
        def step(gradient):
            optimizer.apply_gradients([(gradient, variable)])

        for gradient in gradients:
            step(tf.constant(gradient))
        return variable.numpy()

    held, plain = trained(freeze=True), trained(freeze=False)
    mask = np.zeros(start.shape, bool)
    mask[0, 0] = mask[29, 39] = True
    assert held[mask].tobytes() == start[mask].tobytes()
    assert held[~mask].tobytes() == plain[~mask].tobytes() and (plain != start).all()
