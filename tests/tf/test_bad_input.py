"""Bad input: each is a clear error that names the entry, and model and optimizer stay as they were and train on."""

import numpy as np
import pytest
import tensorflow as tf

import freezecompat as fc
import kits
import runtimes

v1 = tf.compat.v1
PACKAGES = runtimes.keras_packages()
if not runtimes.EAGER:
    PACKAGES.pop("keras3", None)


class Setting:
    """A compiled Keras model and an optimizer of the mode at hand."""

    def __init__(self, keras):
        module = keras.optimizers
        if not runtimes.EAGER:
            module = getattr(module, "legacy", module)
        self.kit = kits.Kit(keras, module, "")
        self.model = self.kit.compiled()
        self.optimizer = self.model.optimizer
        self.model.train_on_batch(kits.X, kits.Y)

    def state(self):
        return {
            "model": sorted(vars(self.model)),
            "optimizer": sorted(vars(self.optimizer)),
            "weights": [array.tobytes() for array in kits.values(self.model)],
            "variables": [id(v) for v in kits.optimizer_variables(self.optimizer)],
            "methods": [type(getattr(self.model, name)) for name in ("compile", "fit", "train_on_batch")],
        }


@pytest.fixture(params=sorted(PACKAGES), scope="module" if runtimes.EAGER else "function")
def lasting(request):
    """One setting for all bad specs, since each must leave it as it was (in graph mode each test has its own graph)."""
    return Setting(PACKAGES[request.param])


@pytest.fixture(params=sorted(PACKAGES))
def setting(request):
    return Setting(PACKAGES[request.param])


class NotAnArray:
    pass


# id: (spec, class of the standard library, what the text must say)
BAD_SPECS = {
    "unknown weight": ({"hiden/kernel": [(0, 0)]}, LookupError, ["hiden/kernel", "hidden/kernel", "Did you mean"]),
    "unknown among good": ({"hidden/kernel": [(0, 0)], "nothing": [(0,)]}, LookupError, ["nothing", "hidden/bias"]),
    "ambiguous": ({"kernel": [(0, 0)]}, LookupError, ["kernel", "hidden/kernel", "out/kernel"]),
    "unknown ordinal": ({"#4": [(0, 0)]}, LookupError, ["#4", "#3"]),
    "a glob that fits nothing": ({"*/gamma": "all"}, LookupError, ["*/gamma"]),
    "index out of range": ({"hidden/kernel": [(1, 2), (4, 0)]}, IndexError, ["hidden/kernel", "4"]),
    "negative out of range": ({"hidden/kernel": [(-5, 0)]}, IndexError, ["hidden/kernel", "-5"]),
    "wrong rank": ({"hidden/kernel": [(1,)]}, IndexError, ["hidden/kernel", "(4, 3)"]),
    "too many axes": ({"hidden/bias": [(1, 2)]}, IndexError, ["hidden/bias", "(3,)"]),
    "float index": ({"hidden/kernel": [(1.0, 2.0)]}, TypeError, ["hidden/kernel"]),
    "bool index": ({"hidden/kernel": [(True, False)]}, TypeError, ["hidden/kernel"]),
    "bare int": ({"hidden/bias": 1}, TypeError, ["hidden/bias", "1"]),
    "mask of a wrong shape": ({"hidden/kernel": np.ones((3, 4), bool)}, ValueError, ["hidden/kernel", "(3, 4)"]),
    "mask of a wrong dtype": ({"hidden/kernel": np.ones((4, 3))}, TypeError, ["hidden/kernel", "bool"]),
    "mask that selects nothing": ({"hidden/kernel": np.zeros((4, 3), bool)}, ValueError, ["hidden/kernel"]),
    "empty list": ({"hidden/kernel": []}, ValueError, ["hidden/kernel"]),
    "empty spec": ({}, ValueError, ["empty"]),
    "empty pairs": ([], ValueError, ["empty"]),
    "no elements at all": ({"hidden/kernel": None}, TypeError, ["hidden/kernel"]),
    "no address": ({3: [(0, 0)]}, (LookupError, TypeError), ["3"]),
    "strange elements": ({"hidden/kernel": NotAnArray()}, TypeError, ["hidden/kernel", "NotAnArray"]),
    "unknown word": ({"hidden/kernel": "everything"}, (ValueError, TypeError), ["hidden/kernel", "everything"]),
    "None": (None, (ValueError, TypeError), ["None"]),
}


@pytest.mark.parametrize("name", sorted(BAD_SPECS))
@pytest.mark.parametrize("how", ["fc.freeze", "frozen.freeze"])
def test_a_bad_spec(lasting, name, how):
    """The error is of the right class and names the entry; nothing has changed, and all weights still train."""
    spec, kind, texts = BAD_SPECS[name]
    frozen = fc.freeze(lasting.model, fc.FreezeSpec.empty()) if how == "frozen.freeze" else None
    before = lasting.state()
    with pytest.raises(kind) as caught:
        if frozen is None:
            fc.freeze(lasting.model, spec, optimizer=lasting.optimizer)
        else:
            frozen.freeze(spec)
    assert isinstance(caught.value, fc.FreezeCompatError)
    assert not isinstance(caught.value, KeyError)
    for text in texts:
        assert text in str(caught.value)
    assert lasting.state() == before
    if frozen is not None:
        assert frozen.num_frozen == 0
        frozen.release()
    weights = kits.values(lasting.model)
    lasting.model.train_on_batch(kits.X, kits.Y)
    kits.assert_all_moved(weights, kits.values(lasting.model))


def test_an_entry_is_named_by_its_number_too(setting):
    """The second of three entries is bad: the text says which."""
    spec = [("hidden/kernel", [(0, 0)]), ("hidden/kernel", [(9, 9)]), ("out/bias", [0])]
    with pytest.raises(IndexError, match="2"):
        fc.freeze(setting.model, spec)


NO_OPTIMIZERS = {
    "a string": (lambda setting: "adam", "adam"),
    "a class": (lambda setting: type(setting.optimizer), "not its class"),
    "the model": (lambda setting: setting.model, "optimizer"),
    "a number": (lambda setting: 0.01, "0.01"),
    "a list with a string": (lambda setting: [setting.optimizer, "adam"], "adam"),
}


@pytest.mark.parametrize("name", sorted(NO_OPTIMIZERS))
def test_what_is_no_optimizer(setting, name):
    """A TypeError that shows what was given, from freeze, attach and detach; nothing is attached."""
    make, text = NO_OPTIMIZERS[name]
    before = setting.state()
    with pytest.raises(TypeError, match=text) as caught:
        fc.freeze(setting.model, kits.SPEC, optimizer=make(setting))
    assert isinstance(caught.value, fc.FreezeCompatError)
    assert setting.state() == before
    frozen = fc.freeze([setting.model.weights[0]], fc.FreezeSpec.empty())
    for method in (frozen.attach, frozen.detach):
        with pytest.raises(TypeError, match=text):
            method(make(setting))
        assert "NOT ATTACHED" in repr(frozen)


def test_no_optimizer_is_fine(setting):
    """optimizer=None means the compiled one, or none yet."""
    frozen = fc.freeze(setting.model, kits.SPEC, optimizer=None)
    assert "NOT ATTACHED" not in repr(frozen)


def test_an_unbuilt_model(setting):
    """A model or layer without weights: a ValueError that names it and says how to build it."""
    keras = setting.kit.keras
    model = keras.Sequential([keras.layers.Dense(3, name="hidden")], name="mine")
    layer = keras.layers.Dense(2, name="lonely")
    for target, name in ((model, "mine"), (layer, "lonely")):
        before = sorted(vars(target))
        for call in (lambda: fc.freeze(target, kits.SPEC), lambda: fc.list_weights(target)):
            with pytest.raises(ValueError, match="{}.*[Bb]uild".format(name)) as caught:
                call()
            assert isinstance(caught.value, fc.UnbuiltModel)
        assert sorted(vars(target)) == before


BAD_TARGETS = {
    "a number": (3, "3"),
    "a string": ("hidden/kernel", "hidden/kernel"),
    "a list of arrays": ([np.zeros(3)], "variables"),
    "an empty list": ([], "no variables"),
    "an empty dict": ({}, "no variables"),
    "a dict of arrays": ({"a": np.zeros(3)}, "a"),
}


@pytest.mark.parametrize("name", sorted(BAD_TARGETS))
def test_a_bad_target(name):
    """What has no weights: a ValueError that shows it and says what a target is."""
    target, text = BAD_TARGETS[name]
    for call in (lambda: fc.freeze(target, {"#0": "all"}), lambda: fc.list_weights(target)):
        with pytest.raises((ValueError, TypeError), match=text) as caught:
            call()
        assert isinstance(caught.value, fc.FreezeCompatError)


def test_one_variable_is_no_target():
    """A single variable: the error says to pass a list."""
    variable = tf.Variable([1.0, 2.0]) if runtimes.EAGER else v1.Variable([1.0, 2.0], use_resource=True)
    with pytest.raises(ValueError, match=r"\[variable\]"):
        fc.freeze(variable, {"#0": [0]})


def test_broken_json(tmp_path, setting):
    """A spec file that can't be read: a ValueError that names the file."""
    path = tmp_path / "broken.json"
    path.write_text('{"freezecompat": 1, "freeze": [')
    before = setting.state()
    with pytest.raises(ValueError, match="broken.json"):
        fc.freeze(setting.model, fc.FreezeSpec.load(str(path)))
    assert setting.state() == before


def test_a_weight_of_another_model(setting):
    """A variable object that is not the target's: a LookupError, though it has the same values and name."""
    other = setting.kit.model()
    with pytest.raises(LookupError, match="not a variable of this target"):
        fc.freeze(setting.model, [(other.weights[0], [(0, 0)])])


def test_a_failed_freeze_leaves_another_frozen_alone(setting):
    """A first Frozen goes on holding after a second freeze was refused."""
    frozen = fc.freeze(setting.model, kits.SPEC)
    before = setting.state()
    with pytest.raises(LookupError):
        fc.freeze(setting.model, {"nothing": "all"})
    with pytest.raises(IndexError):
        frozen.freeze({"hidden/kernel": [(9, 9)]})
    assert setting.state() == before
    weights = kits.values(setting.model)
    setting.model.train_on_batch(kits.X, kits.Y)
    kits.assert_held_and_free_moved(weights, kits.values(setting.model), kits.MASKS)
    frozen.verify()


def test_a_nonsense_thaw_changes_nothing(setting):
    """thaw with a bad spec raises like freeze, and everything stays frozen."""
    frozen = fc.freeze(setting.model, kits.SPEC)
    with pytest.raises(LookupError, match="nothing"):
        frozen.thaw({"nothing": "all"})
    with pytest.raises(ValueError):
        frozen.thaw({})
    assert frozen.num_frozen == 2
