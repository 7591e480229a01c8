"""The ways of copying a compiled Keras model, or an optimizer, and what of ours a copy has."""

import copy
import pickle

import runtimes


def of_ours(obj):
    """The names of its attributes that are objects of freezecompat."""
    return [name for name, value in vars(obj).items() if "freezecompat" in str(type(value).__module__)]


# How to copy a compiled model; each gives a model, compiled or not.


def by_deepcopy(kit, model, path):
    return copy.deepcopy(model)


def by_pickle(kit, model, path):
    return pickle.loads(pickle.dumps(model))


def by_clone_model(kit, model, path):
    cloned = kit.keras.models.clone_model(model)
    cloned.set_weights(model.get_weights())
    return cloned


def by_config(kit, model, path):
    made = type(model).from_config(model.get_config())
    made.set_weights(model.get_weights())
    return made


def by_h5_file(kit, model, path):
    model.save(path + ".h5")
    return kit.keras.models.load_model(path + ".h5")


def by_keras_file(kit, model, path):
    if runtimes.TF1:
        path += ".h5"  # a ".keras" name means no format there
    else:
        path += ".keras"
    model.save(path)
    return kit.keras.models.load_model(path)


def by_saved_model(kit, model, path):
    if kit.name == "keras3":
        raise NotImplementedError("Keras 3 has no load_model of a SavedModel")
    model.save(path, save_format="tf")
    return kit.keras.models.load_model(path)


MODEL_COPIES = [by_deepcopy, by_pickle, by_clone_model, by_config, by_h5_file, by_keras_file, by_saved_model]


# How to copy an optimizer.


def optimizer_by_deepcopy(optimizer):
    return copy.deepcopy(optimizer)


def optimizer_by_pickle(optimizer):
    return pickle.loads(pickle.dumps(optimizer))


def optimizer_by_config(optimizer):
    return type(optimizer).from_config(optimizer.get_config())


OPTIMIZER_COPIES = [optimizer_by_deepcopy, optimizer_by_pickle, optimizer_by_config]
