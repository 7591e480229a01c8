"""Which frozen elements differ between two files."""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Tuple

import numpy as np

from .._bits import different_bits
from ..element_set import ElementSet
from ..exceptions import ArgumentError, DoesNotFit, Moved, UnknownWeight
from ..masks import build
from ..resolve import Weight, listing
from .base import ModelFile

#: How many moved elements are kept; all are counted.
KEPT = 1000


class Comparison(NamedTuple):
    """How many elements were compared, how many of them moved, and the first of those, in weight order, then C order."""

    compared: int
    moved: int
    first: Tuple[Moved, ...]

    def to_dict(self) -> Dict[str, Any]:
        """Plain data, ready for JSON: numbers as text, and their bytes, since a NaN has many."""
        rows = [
            {
                "weight": one.weight,
                "element": list(one.element),
                "before": str(one.before),
                "now": str(one.now),
                "before_bytes": one.before.tobytes().hex(),
                "now_bytes": one.now.tobytes().hex(),
            }
            for one in self.first
        ]
        return {"freezecompat_verify": 1, "compared": self.compared, "moved": self.moved, "first": rows}


def compare(before: ModelFile, after: ModelFile, spec: Any, names: Mapping[str, str]) -> Comparison:
    """Compare the bytes of the elements that a spec selects.

    Args:
        before: the reference; elements that depend on values are those of its values.
        after: the other file.
        spec: a `FreezeSpec`, or what one is made of.
        names: `{address in after: address in before}` for weights that are called otherwise.

    Returns:
        What moved.

    Raises:
        UnknownWeight: a selected weight is not in `after`, or a name is in neither file.
        DoesNotFit: a selected weight has another shape or dtype there.
        FreezeCompatError: as `build_masks`.
    """
    there = _renamed(before, after, names)
    rows = {row.address: row for row in before.rows}
    selected = build(spec, before.rows, before.read).sets
    for address in selected:
        _check_fits(rows[address], there, after)
    count = 0
    first: List[Moved] = []
    for address, elements in selected.items():
        blocks = _same_lengths(before.blocks(address), after.blocks(there[address].address))
        for position, old, new in _differing(elements, blocks):
            count += 1
            if len(first) < KEPT:
                element = tuple(int(i) for i in np.unravel_index(position, elements.shape))
                first.append(Moved(address, element, old, new))
    return Comparison(sum(elements.count for elements in selected.values()), count, tuple(first))


def _renamed(before: ModelFile, after: ModelFile, names: Mapping[str, str]) -> Dict[str, Weight]:
    """The rows of `after` by their addresses in `before`."""
    for known, file in ((names.keys(), after), (names.values(), before)):
        unknown = [name for name in known if name not in {row.address for row in file.rows}]
        if unknown:
            raise UnknownWeight(
                "the name map says {!r}, and {} has no such weight: {}".format(
                    unknown[0], file.path, listing(file.rows)
                )
            )
    there: Dict[str, Weight] = {}
    for row in after.rows:
        address = names.get(row.address, row.address)
        if address in there:
            raise ArgumentError(
                "{!r} and {!r} of {} would both be {!r}: the name map must name each weight once".format(
                    there[address].address, row.address, after.path, address
                )
            )
        there[address] = row
    return there


def _check_fits(row: Weight, there: Mapping[str, Weight], after: ModelFile) -> None:
    other = there.get(row.address)
    if other is None:
        raise UnknownWeight(
            "{} has no weight {!r}: {}. --names MAP.json says what it is called there".format(
                after.path, row.address, listing(after.rows)
            )
        )
    if (other.shape, other.dtype) != (row.shape, row.dtype):
        raise DoesNotFit(
            "{}: before {} {}, in {} {} {}".format(
                row.address, row.shape, row.dtype, after.path, other.shape, other.dtype
            )
        )


def _differing(elements: ElementSet, blocks: Iterator[Tuple[np.ndarray, np.ndarray]]) -> Iterator[Tuple[int, Any, Any]]:
    """Flat position, old and new value of each selected element that differs."""
    start = 0
    for old, new in blocks:
        apart = np.flatnonzero(different_bits(old, new))
        selected = apart[elements.contains(apart + start)]
        for k in selected:
            yield start + int(k), old[k], new[k]
        start += len(old)


def _same_lengths(
    blocks: Iterator[np.ndarray], others: Iterator[np.ndarray]
) -> Iterator[Tuple[np.ndarray, np.ndarray]]:
    """Cut the blocks of two files of one weight at the same places."""
    old = new = np.zeros(0)
    while True:
        old = old if len(old) else next(blocks, old)
        new = new if len(new) else next(others, new)
        length = min(len(old), len(new))
        if not length:
            return
        yield old[:length], new[:length]
        old, new = old[length:], new[length:]
