"""The file of `Frozen.save`: what is frozen, at which bytes, and of which weights; an .npz archive, read without TensorFlow.

    header     UTF-8 JSON as uint8: {"freezecompat_frozen": 1, "version": of the package, "spec": text of the spec as it was
               given or null, "weights": [{"address", "shape", "dtype", "frozen": number of elements}, ...]}; where a
               schedule was at work "schedule_done": its run.done
    mask_k     numpy.packbits of the mask of weight k, C order
    held_k     uint8 (frozen, bytes of the dtype): the held values of weight k in C order, little-endian
"""

import json
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ._json_text import check_keys, read_json
from ._replace import replacing
from ._show import show
from .element_set import ElementSet
from .exceptions import FreezeCompatError, SpecValueError
from .resolve import Weight

_VERSION = 1
_HEADER = ("freezecompat_frozen", "version", "spec", "weights")
_OPTIONAL = ("schedule_done",)
_ROW = ("address", "shape", "dtype", "frozen")


class SavedWeight(NamedTuple):
    """The frozen elements of one weight.

    Attributes:
        address: its canonical address.
        shape: its shape.
        dtype: its dtype's name.
        elements: the frozen ones.
        held: uint8 array (elements.count, bytes of the dtype), their values.
    """

    address: str
    shape: Tuple[int, ...]
    dtype: str
    elements: ElementSet
    held: np.ndarray

    def values(self, dtype: np.dtype) -> np.ndarray:
        """The held values, given the dtype that `self.dtype` names."""
        swapped = self.held if sys.byteorder == "little" else self.held[:, ::-1]
        return np.ascontiguousarray(swapped).reshape(-1).view(dtype)


class SavedFreeze(NamedTuple):
    """What a file holds: the spec as it was given, if it can be written, the frozen weights, what a schedule has done."""

    spec: Optional[str]
    weights: Tuple[SavedWeight, ...]
    schedule_done: Optional[Dict[str, Any]] = None


def saved_weight(row: Weight, elements: ElementSet, values: np.ndarray) -> SavedWeight:
    """Take the held values out of a weight's present values.

    Example:
        >>> row = Weight("bias", (3,))
        >>> saved = saved_weight(row, ElementSet.from_flat((3,), [1]), np.array([0, 1, 2], np.float32))
        >>> saved.held.tolist(), saved.values(np.dtype("float32")).tolist()
        ([[0, 0, 128, 63]], [1.0])
    """
    held = np.ascontiguousarray(np.asarray(values).reshape(-1)[elements.flat()])
    raw = held.view(np.uint8).reshape(len(held), held.dtype.itemsize)
    return SavedWeight(row.address, row.shape, row.dtype, elements, raw if sys.byteorder == "little" else raw[:, ::-1])


def write(path: Any, saved: SavedFreeze, version: str) -> None:
    """Write a file, in the place of one that is there already."""
    rows = [[w.address, list(w.shape), w.dtype, w.elements.count] for w in saved.weights]
    header = dict(zip(_HEADER, (_VERSION, version, saved.spec, [dict(zip(_ROW, row)) for row in rows])))
    if saved.schedule_done is not None:
        header["schedule_done"] = saved.schedule_done
    arrays = {"header": np.frombuffer(json.dumps(header).encode("utf-8"), np.uint8)}
    for k, weight in enumerate(saved.weights):
        arrays["mask_{}".format(k)] = np.packbits(weight.elements.dense().reshape(-1))
        arrays["held_{}".format(k)] = weight.held
    with replacing(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def read(path: Any) -> SavedFreeze:
    """Read a file.

    Raises:
        FileNotFoundError: there is none.
        SpecValueError: it is no such file, or a broken one.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _read(arrays)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except FreezeCompatError as error:
        raise SpecValueError("{} is no file of frozen.save: {}".format(path, error)) from error
    except Exception as error:  # of zipfile, zlib, numpy's reader: BadZipFile, KeyError, ValueError, ...
        raise SpecValueError("{} is no file of frozen.save: {}".format(path, show(str(error)))) from error


def mismatches(saved: SavedFreeze, rows: Sequence[Weight]) -> List[str]:
    """Say which saved weights are not in a target as they were: a line for each.

    Example:
        >>> saved = SavedFreeze(None, (saved_weight(Weight("a", (1,)), ElementSet.full((1,)), np.zeros(1, "f4")),))
        >>> mismatches(saved, [Weight("a", (2,))])
        ['a: saved (1,) float32, here (2,) float32']
    """
    here = {row.address: row for row in rows}
    lines = []
    for weight in saved.weights:
        row = here.get(weight.address)
        if row is None:
            lines.append("{}: saved {} {}, here none".format(weight.address, weight.shape, weight.dtype))
        elif (row.shape, row.dtype) != (weight.shape, weight.dtype):
            lines.append(
                "{}: saved {} {}, here {} {}".format(
                    weight.address, weight.shape, weight.dtype, tuple(row.shape), row.dtype
                )
            )
    return lines


def differing(saved: SavedFreeze, read_values: Callable[[str], np.ndarray]) -> Dict[str, str]:
    """Compare the held values with present ones, byte by byte: a line for each weight in which some differ."""
    lines = {}
    for weight in saved.weights:
        present = np.asarray(read_values(weight.address))
        now = saved_weight(Weight(weight.address, weight.shape, weight.dtype), weight.elements, present)
        apart = np.flatnonzero((now.held != weight.held).any(axis=1))
        if len(apart):
            first = int(apart[0])
            lines[weight.address] = "{}: {} of {} held values differ, {}: saved {}, here {}".format(
                weight.address,
                len(apart),
                weight.elements.count,
                weight.elements.positions()[first].tolist(),
                weight.values(present.dtype)[first],
                now.values(present.dtype)[first],
            )
    return lines


def _read(arrays: Any) -> SavedFreeze:
    header = read_json(arrays["header"].tobytes().decode("utf-8"))
    check_keys(header, _HEADER, "its header", _OPTIONAL)
    if header["freezecompat_frozen"] != _VERSION:
        raise SpecValueError("it has version {}".format(show(header["freezecompat_frozen"])))
    weights = []
    for k, row in enumerate(header["weights"]):
        check_keys(row, _ROW, "a weight")
        shape = tuple(row["shape"])
        size = ElementSet.empty(shape).size
        packed, held = arrays["mask_{}".format(k)], arrays["held_{}".format(k)]
        if packed.dtype != np.uint8 or packed.shape != ((size + 7) // 8,):
            raise SpecValueError("the mask of {} does not fit its shape {}".format(show(row["address"]), shape))
        elements = ElementSet.from_dense(np.unpackbits(packed)[:size].astype(bool).reshape(shape))
        if held.dtype != np.uint8 or held.ndim != 2 or not elements.count == len(held) == row["frozen"]:
            raise SpecValueError("the held values of {} do not fit its mask".format(show(row["address"])))
        weights.append(SavedWeight(row["address"], shape, row["dtype"], elements, held))
    return SavedFreeze(header["spec"], tuple(weights), header.get("schedule_done"))
