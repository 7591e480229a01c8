"""Masks in spec files: as bits in the text itself, or in a .npy file beside it."""

import base64
import binascii
import os
from typing import Any, Optional

import numpy as np

from ._show import show
from .exceptions import SpecTypeError, SpecValueError

_MAX_RANK = 32
_MAX_LENGTH = 2**40
_MAX_HEADER = 10000


def pack_mask(mask: np.ndarray) -> str:
    """Write a mask as text.

    Args:
        mask: bool array.

    Returns:
        Base64 of its bits, in C order, the first bit of a byte being the highest.

    Example:
        >>> pack_mask(np.array([[True, False], [False, True]]))
        'kA=='
    """
    return base64.b64encode(np.packbits(mask.reshape(-1)).tobytes()).decode("ascii")


def unpack_mask(shape: Any, bits: Any) -> np.ndarray:
    """Read what `pack_mask` wrote.

    Args:
        shape: list of ints.
        bits: the text, of exactly the length that the shape needs, unused bits 0.

    Returns:
        Bool array of the shape.

    Raises:
        SpecTypeError: no list of ints, or no text.
        SpecValueError: no base64, or bits that don't fit the shape.

    Example:
        >>> unpack_mask([2, 2], "kA==").tolist()
        [[True, False], [False, True]]
    """
    size = _checked_size(shape)
    if not isinstance(bits, str):
        raise SpecTypeError("'bits' is base64 text, received {}".format(show(bits)))
    try:
        packed = np.frombuffer(base64.b64decode(bits.encode("ascii"), validate=True), np.uint8)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise SpecValueError("'bits' is no base64 text: {}".format(show(bits))) from error
    if len(packed) != (size + 7) // 8:
        raise SpecValueError(
            "'bits' holds {} byte{}, but a mask of shape {} needs {}".format(
                len(packed), "" if len(packed) == 1 else "s", show(tuple(shape)), (size + 7) // 8
            )
        )
    flat = np.unpackbits(packed)
    if flat[size:].any():
        raise SpecValueError("'bits' has bits set behind the last element of shape {}".format(show(tuple(shape))))
    return flat[:size].astype(bool).reshape(shape)


def load_mask(name: Any, folder: Optional[str]) -> np.ndarray:
    """Read a mask from a .npy file in the spec's folder.

    Args:
        name: the file's path, relative to the folder.
        folder: the folder; None if the spec came from no file.

    Returns:
        The array; whether it is a mask is for the caller to check.

    Raises:
        SpecTypeError: `name` is no text.
        SpecValueError: it leaves the folder, is not there, or is no .npy file of plain values.

    Example:
        >>> load_mask("mask.npy", None)
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: a mask file is relative to the spec's folder, and this spec has none; \
load it from a file, or pass folder=
    """
    if not isinstance(name, str):
        raise SpecTypeError("'mask' is a file name, received {}".format(show(name)))
    if folder is None:
        raise SpecValueError(
            "a mask file is relative to the spec's folder, and this spec has none; load it from a file, or pass folder="
        )
    path = _inside(name, folder)
    if not os.path.isfile(path):
        raise SpecValueError("there is no mask file {} in the spec's folder".format(show(name)))
    _check_header(path, name)
    try:
        # Mapped, so that a header that claims more than the file holds allocates nothing, and no pickle is read.
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:  # numpy tokenizes the header: TokenError, SyntaxError, ... (test_mask_file_broken)
        raise SpecValueError("{} is no .npy file of plain values: {}".format(show(name), show(str(error)))) from error


def _check_header(path: str, name: str) -> None:
    """Refuse what does not begin as a .npy file, or has a header too long to be one of a mask."""
    with open(path, "rb") as file:
        start = file.read(12)
    length = int.from_bytes(start[8:10] if start[6:7] == b"\x01" else start[8:12], "little")
    if start[:6] != b"\x93NUMPY" or length > _MAX_HEADER:
        raise SpecValueError("{} is no .npy file of plain values".format(show(name)))


def _checked_size(shape: Any) -> int:
    if not isinstance(shape, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in shape):
        raise SpecTypeError("'shape' is a list of ints, received {}".format(show(shape)))
    size = 1
    for length in shape:
        size *= length
    if len(shape) > _MAX_RANK or any(not 0 <= length <= _MAX_LENGTH for length in shape):
        raise SpecValueError("{} is no shape of a weight".format(show(shape)))
    return size


def _inside(name: str, folder: str) -> str:
    """Return the path of a file after links are followed; refuse one outside the folder."""
    refused = SpecValueError(
        "the mask file {} leaves the folder of its spec; put it beside the spec".format(show(name))
    )
    if "\0" in name or os.path.isabs(name) or ".." in name.replace("\\", "/").split("/"):
        raise refused
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(os.path.join(root, "")):
        raise refused
    return path
