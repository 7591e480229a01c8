"""Masks in .npy files beside a spec: read from its folder only, and never as more than plain values."""

import os
import time

import numpy as np
import pytest

from freezecompat import elements
from freezecompat.exceptions import SpecTypeError, SpecValueError

MASK = np.array([[False, True, False], [False] * 3, [False] * 3, [True, False, True]])


@pytest.fixture
def folder(tmp_path):
    """A spec's folder, with files in it and beside it."""
    inside = tmp_path / "spec"
    (inside / "sub").mkdir(parents=True)
    np.save(str(inside / "mask.npy"), MASK)
    np.save(str(inside / "sub" / "mask.npy"), ~MASK)
    np.save(str(inside / "floats.npy"), np.ones((4, 3)))
    np.save(str(inside / "objects.npy"), np.array([{}], object), allow_pickle=True)
    np.save(str(tmp_path / "outside.npy"), MASK)
    np.savez(str(inside / "several.npz"), mask=MASK)
    (inside / "empty.npy").write_bytes(b"")
    os.symlink(str(tmp_path / "outside.npy"), str(inside / "link.npy"))
    os.symlink(str(inside / "mask.npy"), str(inside / "good-link.npy"))
    os.symlink(str(tmp_path), str(inside / "up"))
    return inside


@pytest.mark.parametrize(
    "name, expected", [("mask.npy", MASK), ("sub/mask.npy", ~MASK), ("./mask.npy", MASK), ("good-link.npy", MASK)]
)
def test_mask_file(folder, name, expected):
    """A mask file is read from the spec's folder, and dumps as bits."""
    element = elements.from_json({"mask": name}, folder=str(folder))
    assert element == elements.mask(expected)
    assert set(element.to_json()) == {"shape", "bits"}


@pytest.mark.parametrize(
    "name, error, text",
    [
        ("../outside.npy", SpecValueError, "leaves the folder"),
        ("sub/../../outside.npy", SpecValueError, "leaves the folder"),
        ("..\\outside.npy", SpecValueError, "leaves the folder"),
        ("link.npy", SpecValueError, "leaves the folder"),
        ("up/outside.npy", SpecValueError, "leaves the folder"),
        ("ma\0sk.npy", SpecValueError, "leaves the folder"),
        ("", SpecValueError, "leaves the folder"),
        ("none.npy", SpecValueError, "there is no mask file 'none.npy'"),
        ("sub", SpecValueError, "there is no mask file 'sub'"),
        ("floats.npy", SpecTypeError, "a mask is a bool array"),
        ("objects.npy", SpecValueError, "no .npy file of plain values"),
        ("several.npz", SpecValueError, "no .npy file of plain values"),
        ("empty.npy", SpecValueError, "no .npy file of plain values"),
    ],
)
def test_mask_file_refused(folder, name, error, text):
    """No file outside the spec's folder is read, and no pickle."""
    with pytest.raises(error, match=text):
        elements.from_json({"mask": name}, folder=str(folder))


def test_absolute_mask_file_refused(folder):
    """An absolute path is refused, even into the folder."""
    with pytest.raises(SpecValueError, match="leaves the folder"):
        elements.from_json({"mask": str(folder / "mask.npy")}, folder=str(folder))


def npy(header):
    """A .npy file of version 2 with this header and twelve bytes."""
    return b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + b"\0" * 12


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            npy(b"{'descr': '|b1', 'fortran_order': False, 'shape': (4000000, 1000000), }\n"), id="claims-4-TB"
        ),
        pytest.param(npy(b"{'descr': '|b1', 'fortran_order': False, 'shape': (4, \n"), id="header-cut-off"),
        pytest.param(npy(b"{'descr': '|b1', 'fortran_order': False, 'shape': " + b"(" * 9000), id="header-nested"),
        pytest.param(npy(b"__import__('os').getpid()\n"), id="header-with-code"),
        pytest.param(npy(b"[" + b"1," * 5 * 10**6 + b"]"), id="header-of-10-MB"),
        pytest.param(npy(b"")[:9], id="file-cut-off"),
        pytest.param(b"\x80\x03]q\x00.", id="pickle"),
    ],
)
def test_mask_file_broken(folder, content):
    """A broken or lying file is refused, without reading or allocating what it claims."""
    (folder / "mask.npy").write_bytes(content)
    start = time.time()
    with pytest.raises(SpecValueError, match="'mask.npy' is no .npy file of plain values"):
        elements.from_json({"mask": "mask.npy"}, folder=str(folder))
    assert time.time() - start < 5.0  # numpy 1.18 alone reads the header of 10 MB for a minute and a half


def test_mask_file_of_version_2(folder):
    """The header that the broken files vary is a good one."""
    (folder / "mask.npy").write_bytes(npy(b"{'descr': '|b1', 'fortran_order': False, 'shape': (4, 3), }\n"))
    element = elements.from_json({"mask": "mask.npy"}, folder=str(folder))
    assert element == elements.mask(np.zeros((4, 3), bool))
