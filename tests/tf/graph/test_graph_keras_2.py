"""Keras 2 in graph mode: its own training, under its own optimizers and those of `tf.train`."""

import warnings

import pytest
import tensorflow as tf

import freezecompat as fc
from freezecompat.model_files import open_model
import runtimes
from graph_kit import v1
from graph_keras_kit import SPEC, VALUES, X, Y, assert_moved, build

KERAS_2 = runtimes.keras_packages()["tf.keras"]
MODULE = getattr(KERAS_2.optimizers, "legacy", KERAS_2.optimizers)  # on 2.11 to 2.15 the new classes fail in graph mode
OPTIMIZERS = {
    "Adam": lambda: MODULE.Adam(learning_rate=0.05),
    "SGD": lambda: MODULE.SGD(learning_rate=0.1, momentum=0.9),
    "tf.train.Adam": lambda: v1.train.AdamOptimizer(0.05),
    "tf.train.Momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
}


@pytest.fixture(params=sorted(OPTIMIZERS))
def make_optimizer(request):
    return OPTIMIZERS[request.param]


def model_of_values():
    model = build(KERAS_2)
    model.set_weights(VALUES)
    return model


def fit(model, epochs=2, **options):
    return model.fit(X, Y, batch_size=2, epochs=epochs, shuffle=False, verbose=0, **options)


@pytest.mark.parametrize("order", ["before compile", "after compile", "after fit"])
@pytest.mark.parametrize("way", ["fit", "train_on_batch"])
def test_frozen_before_or_after_compile_or_a_first_fit(make_optimizer, order, way):
    """fit and train_on_batch hold the elements wherever freeze stands, and let all others train."""
    model = model_of_values()
    if order == "before compile":
        frozen = fc.freeze(model, SPEC)
    model.compile(make_optimizer(), loss="mse")
    if order == "after fit":
        fit(model)
    if order != "before compile":
        frozen = fc.freeze(model, SPEC)
    before = model.get_weights()
    for _ in range(3):
        fit(model, 1) if way == "fit" else model.train_on_batch(X, Y)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()
    assert type(frozen.report().weights[0].moved) is int
    frozen.thaw()
    before = model.get_weights()
    fit(model, 1) if way == "fit" else model.train_on_batch(X, Y)
    assert_moved(before, model.get_weights(), {})
    frozen.release()
    fit(model, 1)


def test_a_second_compile_keeps_the_freeze(make_optimizer):
    """compile with another optimizer: the elements hold under that one."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.compile(make_optimizer(), loss="mae")
    before = model.get_weights()
    fit(model)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()


def callback(**methods):
    return KERAS_2.callbacks.LambdaCallback(**methods)


def test_freeze_and_thaw_from_a_callback(make_optimizer):
    """Attached before fit: a freeze or thaw in a callback acts on the next batch, and callbacks see held values."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, fc.FreezeSpec.empty())
    seen = []

    def at_end(epoch, logs=None):
        seen.append(model.get_weights())
        if epoch == 1:
            frozen.freeze(SPEC)
        if epoch == 3:
            frozen.thaw()

    fit(model, 6, callbacks=[callback(on_epoch_end=at_end)])
    masks = fc.build_masks(SPEC, fc.list_weights(model))
    for k, held in enumerate([{}, masks, masks, {}, {}]):
        assert_moved(seen[k], seen[k + 1], held)


def test_a_value_set_while_frozen_is_held(make_optimizer):
    """set_weights while frozen: the new value is held, verify() tells, rebase() accepts."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    frozen = fc.freeze(model, SPEC)
    fit(model)
    model.set_weights([value + 1 for value in VALUES])
    before = model.get_weights()
    fit(model)
    assert_moved(before, model.get_weights(), frozen.masks)
    with pytest.raises(fc.FrozenWeightsMoved):
        frozen.verify()
    frozen.rebase().verify()


def test_a_first_attach_inside_a_running_fit(make_optimizer):
    """Where the running fit can't be reached it warns and acts from the next fit on, else from the next batch on."""
    model = model_of_values()
    model.compile(make_optimizer(), loss="mse")
    made, seen = [], []

    def at_begin(epoch, logs=None):
        seen.append(model.get_weights())
        if epoch == 2:
            made.append(fc.freeze(model, SPEC))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(model, 5, callbacks=[callback(on_epoch_begin=at_begin)])
    told = [one for one in caught if "next fit" in str(one.message)]
    frozen = made[0]
    if told:
        assert len(told) == 1
        assert_moved(seen[2], seen[4], {})
        frozen.rebase()
    else:
        assert_moved(seen[2], seen[4], frozen.masks)
    before = model.get_weights()
    fit(model, 3)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify()


def test_a_hand_written_graph_around_a_keras_model():
    """minimize on a Keras 2 model's output, in a session: the optimizer given is the one that counts."""
    model = model_of_values()
    optimizer = v1.train.AdamOptimizer(0.05)
    frozen = fc.freeze(model, SPEC, optimizer=optimizer)
    train_op = optimizer.minimize(tf.reduce_mean(tf.square(model(tf.constant(X)) - Y)))
    session = v1.keras.backend.get_session()
    session.run(v1.variables_initializer([v for v in v1.global_variables() if all(v is not w for w in model.weights)]))
    before = model.get_weights()
    for _ in range(3):
        session.run(train_op)
    assert_moved(before, model.get_weights(), frozen.masks)
    frozen.verify(session)


def test_after_clear_session():
    """Keras has gone on to another graph: what needs a session says so, and release() needs none."""
    model = model_of_values()
    model.compile(MODULE.Adam(learning_rate=0.05), loss="mse")
    frozen = fc.freeze(model, SPEC)
    fit(model)
    KERAS_2.backend.clear_session()
    with pytest.raises(ValueError, match="pass session="):
        frozen.verify()
    assert any("no session" in note for note in frozen.report().notes)
    frozen.release()
    assert "compile" not in vars(model)


def test_files(tmp_path):
    """A graph numbers the names of a second layer of one name; the file's layers have theirs."""
    for model in (build(KERAS_2), build(KERAS_2)):
        for save, path in ((model.save, tmp_path / "model.h5"), (model.save_weights, tmp_path / "weights.h5")):
            save(str(path))
            file = open_model(str(path))
            assert [row.address for row in file.rows] == [row.address for row in fc.list_weights(model)]
            for row, values in zip(file.rows, model.get_weights()):
                assert file.read(row.address).tobytes() == values.tobytes()
