"""Checkpoints of TensorFlow and the variables of a SavedModel; TensorFlow itself is needed for two old kinds only."""

import os
import re
from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np

from ..exceptions import ArgumentError, MissingDependency
from ..resolve import Weight
from . import object_graph
from .base import ModelFile, dtype_name, reading
from .stand_ins import STATE
from .table import MAGIC
from .tensor_bundle import Bundle

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"

#: Names that the optimizers of `tf.train` give to slots by default, after that of the variable.
_SLOT = re.compile(
    r"(.+)/(?:Adam|AdamW|Nadam|Momentum|RMSProp|RMSprop|Adagrad|AdagradDA|Adadelta|Ftrl|ProximalAdagrad)(?:_\d+)?$"
)
#: Names that Keras' optimizers give to slots in a graph: after those of the optimizer and of the variable.
_KERAS_SLOT = re.compile(r"training/[^/]+/(.+)/(?:m|v|vhat|momentum|rms|mg|accumulator|accum_grad|accum_var|linear)$")
_COUNTER = re.compile(r"(?:.+/)?(?:beta[12]_power(?:_\d+)?|global_step)$")


def checkpoint_prefix(path: str) -> Optional[str]:
    """What TensorFlow calls the checkpoint that a path means, None where it means none.

    It may be the prefix itself, an .index or .data file, the folder of a SavedModel, or a folder with a `checkpoint`
    file, which names its latest.
    """
    if os.path.isdir(path):
        if any(os.path.isfile(os.path.join(path, name)) for name in ("saved_model.pb", "saved_model.pbtxt")):
            return os.path.join(path, "variables", "variables")
        return _latest(path)
    prefix = re.sub(r"\.(index|data-\d+-of-\d+)$", "", path)
    if os.path.isfile(prefix + ".index"):
        return prefix
    return path if _is_table(path) else None


def open_checkpoint(path: str) -> ModelFile:
    """Read which weights a checkpoint or a SavedModel holds.

    Raises:
        ArgumentError: there is none, or it is broken.
        MissingDependency: it is of format V1, and TensorFlow is not installed.
    """
    prefix = checkpoint_prefix(path)
    if prefix is None:
        raise ArgumentError("can't read {}: it is no checkpoint".format(path))
    with reading(path):
        return _of_v1(path) if _is_table(prefix) else _of_v2(path, Bundle(prefix), prefix)


def _of_v2(path: str, bundle: Bundle, prefix: str) -> ModelFile:
    graph = bundle.text(_OBJECT_GRAPH)
    entries = {key: entry for key, entry in bundle.entries.items() if entry.dtype is not None}
    shapes = {key: entry.shape for key, entry in entries.items()}
    keys = _weights_by_name(shapes) if graph is None else object_graph.weights(graph)
    keys = {address: key for address, key in keys.items() if key in entries}
    rows = [_row(address, keys[address], shapes, dtype_name(entries[keys[address]].dtype)) for address in sorted(keys)]

    def blocks(address: str) -> Iterator[np.ndarray]:
        key = keys[address]
        return _whole(_tensorflow(), prefix, key) if entries[key].is_sliced else bundle.blocks(key)

    return ModelFile(path, rows, blocks, sorted(set(entries) - set(keys.values())))


def _of_v1(path: str) -> ModelFile:
    tensorflow = _tensorflow()
    reader = tensorflow.compat.v1.train.NewCheckpointReader(path)
    shapes = {key: tuple(shape) for key, shape in reader.get_variable_to_shape_map().items()}
    dtypes = {key: dtype.base_dtype.name for key, dtype in reader.get_variable_to_dtype_map().items()}
    keys = sorted(key for key in _weights_by_name(shapes) if dtypes[key] != "string")
    rows = [_row(key, key, shapes, dtypes[key]) for key in keys]
    return ModelFile(path, rows, lambda key: _whole(tensorflow, path, key), sorted(set(shapes) - set(keys)))


def _row(address: str, key: str, shapes: Dict[str, Tuple[int, ...]], dtype: str) -> Weight:
    layer, _, role = address.rpartition("/")
    return Weight(address, shapes[key], dtype, trainable=role not in STATE, name=key, layer=layer, role=role)


def _tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError:
        raise MissingDependency(
            "checkpoints of format V1 and partitioned variables need TensorFlow: pip install "
            '"freezecompat[tensorflow]"'
        ) from None
    return tensorflow


def _whole(tensorflow: Any, prefix: str, key: str) -> Iterator[np.ndarray]:
    """All at once: TensorFlow has no way to read a part of a variable that does not read all of it."""
    v1 = tensorflow.compat.v1
    dtype = v1.train.NewCheckpointReader(prefix).get_variable_to_dtype_map()[key].base_dtype
    with v1.Graph().as_default(), v1.Session() as session:
        # The reader's own get_tensor refuses a variable in parts in format V1.
        values = v1.raw_ops.RestoreV2(prefix=prefix, tensor_names=[key], shape_and_slices=[""], dtypes=[dtype])
        yield session.run(values)[0].reshape(-1)


def _is_table(path: str) -> bool:
    """True for a checkpoint of format V1: one file, of any name, in which the values are too."""
    if not os.path.isfile(path) or os.path.getsize(path) < len(MAGIC):
        return False
    with open(path, "rb") as file:
        file.seek(-len(MAGIC), os.SEEK_END)
        return file.read() == MAGIC


def _latest(folder: str) -> Optional[str]:
    """The checkpoint that a `checkpoint` file names."""
    try:
        with open(os.path.join(folder, "checkpoint"), encoding="utf-8") as file:
            found = re.search(r'^model_checkpoint_path:\s*"(.+)"\s*$', file.read(), re.M)
    except OSError:
        return None
    return os.path.join(folder, found.group(1)) if found else None


def _weights_by_name(shapes: Dict[str, Tuple[int, ...]]) -> Dict[str, str]:
    return {name: name for name in shapes if not _is_of_optimizer(name, shapes)}


def _is_of_optimizer(name: str, shapes: Dict[str, Tuple[int, ...]]) -> bool:
    """True for a slot, which has the name and the shape of a variable that is here too, and for counters of steps."""
    for pattern in (_SLOT, _KERAS_SLOT):
        found = pattern.match(name)
        if found and shapes.get(found.group(1)) == shapes[name]:
            return True
    return not shapes[name] and bool(_COUNTER.match(name))
