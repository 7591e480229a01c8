"""Which frozen elements differ between two files."""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from .._bits import different_bits
from ..element_set import ElementSet
from ..exceptions import AmbiguousWeight, ArgumentError, DoesNotFit, Moved, UnknownWeight
from ..masks import build
from ..resolve import Weight, by_name, listing
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
        names: `{address in after: address in before}` for weights that are called otherwise there. Without it a weight
            is found by its address, else by its native name or whole trailing segments, in either direction.

    Returns:
        What moved.

    Raises:
        UnknownWeight: a selected weight is not in `after`, or a name is in neither file.
        DoesNotFit: a selected weight has another shape or dtype there.
        FreezeCompatError: as `build_masks`.
    """
    rows = {row.address: row for row in before.rows}
    selected = build(spec, before.rows, before.read).sets
    renamed = _renamed(before, after, names)
    there: Dict[str, Weight] = {}
    for address in selected:
        other = _partner(rows[address], rows, renamed, after)
        taken = next((one for one, partner in there.items() if partner is other), None)
        if taken is not None:
            raise AmbiguousWeight(
                "{} of {} may be {} and {}: --names MAP.json says which".format(
                    other.address, after.path, taken, address
                )
            )
        there[address] = other
    count = 0
    first: List[Moved] = []
    for address, elements in selected.items():
        blocks = _same_lengths(before.blocks(address), after.blocks(there[address].address))
        for positions, old, new in _differing(elements, blocks):
            count += len(positions)
            for k, position in enumerate(positions[: KEPT - len(first)]):
                element = tuple(int(i) for i in np.unravel_index(position, elements.shape))
                first.append(Moved(address, element, old[k], new[k]))
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


def _partner(row: Weight, rows: Mapping[str, Weight], renamed: Mapping[str, Weight], after: ModelFile) -> Weight:
    """The weight of `after` that a row is about."""
    other = renamed.get(row.address) or _alike(row, [one for address, one in renamed.items() if address not in rows])
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
    return other


def _alike(row: Weight, others: List[Weight]) -> Optional[Weight]:
    """The one weight whose native name, or the end of whose name, is this one's, or the other way round."""
    for name in (row.address, row.name):
        found = by_name(name, others) if name else None
        if found is not None:
            return found
    ends = [other for other in others if by_name(other.address, [row]) is not None]
    if len(ends) > 1:
        raise AmbiguousWeight("{} may be each of {}: --names MAP.json says which".format(row.address, listing(ends)))
    return ends[0] if ends else None


def _differing(
    elements: ElementSet, blocks: Iterator[Tuple[np.ndarray, np.ndarray]]
) -> Iterator[Tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Flat positions, old and new values of the selected elements that differ, block by block."""
    start = 0
    for old, new in blocks:
        apart = np.flatnonzero(different_bits(old, new))
        selected = apart[elements.contains(apart + start)]
        yield selected + start, old[selected], new[selected]
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
