"""From an address to the weights that it names, by rules that don't depend on a framework.

The first rule that fits decides:

1. a variable object: the row that holds this very object (`is`, never `==`, `in` or a hash);
2. the exact canonical address;
3. an exact native name or path, with or without `:0`;
4. whole trailing segments: "hidden/kernel" fits "block/hidden/kernel";
5. a glob, over the whole canonical address;
6. "#k", the position among the trainable weights;
7. the address of a layer: exact, else by whole trailing segments.
"""

import difflib
import fnmatch
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._show import show
from .exceptions import AmbiguousWeight, ArgumentError, SpecTypeError, UnknownWeight

_MAX_LISTED = 12
_MAX_PATTERN = 1000
_MAX_COMPARED = 200


class Weight(NamedTuple):
    """What the core knows of one weight.

    Attributes:
        address: canonical address, unique in the target.
        shape: its shape.
        dtype: its dtype's name.
        trainable: whether the target trains it.
        name: native name.
        ordinal: position among the trainable weights, None if not trainable.
        values: array of its present values, or None where they are not needed.
        layer: canonical address of its layer, "" if that is the target itself, None if it has none.
        role: kernel, bias, gamma, ...
        unit_axis: the axis along which its layer's output units lie; several axes count as one, in C order; None if it has
            none.
        whole_for_units: whether every output unit of its layer depends on all of it.
        gates: names of the gates whose columns make up its last axis, in order; None if it has none.
        outer_units: (address of a layer around its own, the axis of that layer's units in it), or None: an attention's heads.
        aliases: further native names and paths, and other canonical addresses of a shared variable.
        handles: the variable objects; compared by `is` only.

    Example:
        >>> Weight("hidden/kernel", (4, 3), ordinal=0).shape
        (4, 3)
    """

    address: str
    shape: Tuple[int, ...]
    dtype: str = "float32"
    trainable: bool = True
    name: Optional[str] = None
    ordinal: Optional[int] = None
    values: Any = None
    layer: Optional[str] = None
    role: Optional[str] = None
    unit_axis: Any = None
    whole_for_units: bool = False
    gates: Optional[Tuple[str, ...]] = None
    outer_units: Optional[Tuple[str, Any]] = None
    aliases: Tuple[str, ...] = ()
    handles: Tuple[Any, ...] = ()


class Match(NamedTuple):
    """The weights that an address names, in weight order, how: "weight", "glob" or "layer", and the layer's whole address.

    Example:
        >>> resolve("hidden", as_weights({"hidden/kernel": np.zeros((4, 3))})).kind
        'layer'
    """

    weights: Tuple[Weight, ...]
    kind: str
    layer: Optional[str] = None


def as_weights(weights: Union[Mapping[str, Any], Iterable[Weight]]) -> List[Weight]:
    """Make weight rows of what a user has.

    Args:
        weights: `Weight` rows, as `list_weights` gives them, or the short form `{address: array}`: all trainable, in
            this order, the part of an address before its last `/` being the layer. Where no row has an ordinal, the
            trainable rows are numbered in order.

    Returns:
        The rows, in the same order.

    Raises:
        ArgumentError: an address appears twice.
        SpecTypeError: what was passed are no weights.

    Example:
        >>> rows = as_weights({"hidden/kernel": np.zeros((4, 3)), "hidden/bias": np.zeros(3)})
        >>> [(row.address, row.shape, row.ordinal) for row in rows]
        [('hidden/kernel', (4, 3), 0), ('hidden/bias', (3,), 1)]
    """
    if isinstance(weights, Mapping):
        rows = [_row_of_array(address, array) for address, array in weights.items()]
    else:
        rows = _checked_rows(weights)
    seen: set = set()
    for row in rows:
        if not isinstance(row.address, str) or not row.address:
            raise SpecTypeError("{} is no address: a weight's address is a string".format(show(row.address)))
        if row.address in seen:
            raise ArgumentError("two weights have the address {!r}; addresses are unique".format(row.address))
        seen.add(row.address)
    if all(row.ordinal is None for row in rows):
        rows = _numbered(rows)
    return rows


def resolve(address: Any, weights: Sequence[Weight]) -> Match:
    """Find the weights that an address names.

    Args:
        address: canonical address, native name, trailing segments, glob, "#k", a layer's address, or a variable object.
        weights: the target's rows.

    Returns:
        The weights, in weight order, and the kind of match.

    Raises:
        UnknownWeight: nothing fits.
        AmbiguousWeight: several weights or layers fit at the level that decides.

    Example:
        >>> rows = as_weights({"hidden/kernel": np.zeros((4, 3)), "out/kernel": np.zeros((3, 1))})
        >>> [row.address for row in resolve("*/kernel", rows).weights]
        ['hidden/kernel', 'out/kernel']
        >>> resolve("kernel", rows)
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.AmbiguousWeight: 'kernel' fits 2 weights: hidden/kernel (4, 3), out/kernel (3, 1). \
Write the whole address, or a pattern such as '*/kernel' for all of them
    """
    if not isinstance(address, str):
        return Match((_by_identity(address, weights),), "weight")
    named = by_name(address, weights)
    if named is not None:
        return Match((named,), "weight")
    globbed = _by_glob(address, weights)
    if globbed:
        return Match(globbed, "glob")
    if re.match(r"#[0-9]+\Z", address):
        return Match((_by_ordinal(address, weights),), "weight")
    layer = _by_layer(address, weights)
    if layer is not None:
        return Match(tuple(row for row in weights if _is_below(row, layer)), "layer", layer)
    raise UnknownWeight(
        "no weight is called {}. {}{}".format(show(address), _known(weights), _suggestion(address, weights))
    )


def by_name(address: str, weights: Sequence[Weight]) -> Optional[Weight]:
    """Find the weight that an address names without a pattern: exact, by native name, by whole trailing segments.

    Returns:
        The weight, or None.

    Raises:
        AmbiguousWeight: several weights fit at the level that decides.

    Example:
        >>> by_name("kernel", as_weights({"hidden/kernel": np.zeros((4, 3))})).address
        'hidden/kernel'
    """
    plain = _without_zero(address)
    tail = "/" + plain
    levels: Tuple[Callable[[Weight], bool], ...] = (
        lambda row: row.address == address,
        lambda row: any(name == plain for name in _native_names(row)),
        lambda row: any(name == plain or name.endswith(tail) for name in [row.address] + _native_names(row)),
    )
    for fits in levels if address else ():
        found = [row for row in weights if fits(row)]
        if len(found) > 1:
            raise AmbiguousWeight(
                "{} fits {} weights: {}. Write the whole address, or a pattern such as '*/{}' for all of them".format(
                    show(address), len(found), listing(found), found[0].address.rpartition("/")[2]
                )
            )
        if found:
            return found[0]
    return None


def listing(weights: Sequence[Weight]) -> str:
    """List weights with their shapes, for an error message.

    Args:
        weights: the rows to list.

    Returns:
        Text of at most twelve weights and the number of the others.

    Example:
        >>> listing(as_weights({"hidden/kernel": np.zeros((4, 3)), "hidden/bias": np.zeros(3)}))
        'hidden/kernel (4, 3), hidden/bias (3,)'
    """
    return _cut(["{} {}".format(row.address, row.shape) for row in weights])


def _by_identity(address: Any, weights: Sequence[Weight]) -> Weight:
    for row in weights:
        if any(handle is address for handle in row.handles):
            return row
    hint = "" if not isinstance(address, int) else " (write '#{}' for a position)".format(show(address))
    raise UnknownWeight(
        "{} is not a variable of this target: an address is a string, or one of the target's own variable "
        "objects{}. {}".format(show(address), hint, _known(weights))
    )


def _by_glob(address: str, weights: Sequence[Weight]) -> Tuple[Weight, ...]:
    if not any(sign in address for sign in "*?[") or len(address) > _MAX_PATTERN:
        return ()
    pattern = re.sub(r"\*+", "*", address)  # a run of stars means one, but costs its length in backtracking
    try:
        return tuple(row for row in weights if fnmatch.fnmatchcase(row.address, pattern))
    except re.error:  # "[z-a]" up to Python 3.8
        return ()


def _by_ordinal(address: str, weights: Sequence[Weight]) -> Weight:
    if len(address) <= _MAX_PATTERN:
        for row in weights:
            if row.ordinal == int(address[1:]):
                return row
    count = sum(row.ordinal is not None for row in weights)
    if not count and any(row.trainable for row in weights):
        raise UnknownWeight(
            "there is no weight {}: the order of these weights is not known. {}".format(show(address), _known(weights))
        )
    valid = "valid: '#0' to '#{}'".format(count - 1) if count else "so no '#k' is valid"
    raise UnknownWeight(
        "there is no weight {}: the target has {} trainable weight{} ({}). {}".format(
            show(address), count, "" if count == 1 else "s", valid, _known(weights)
        )
    )


def _by_layer(address: str, weights: Sequence[Weight]) -> Optional[str]:
    layers = _layers(weights)
    found = [layer for layer in layers if layer == address]
    found = found or [layer for layer in layers if layer.endswith("/" + address)]
    if len(found) > 1:
        raise AmbiguousWeight(
            "{} fits {} layers: {}. Write the whole address".format(show(address), len(found), _cut(found))
        )
    return found[0] if found else None


def _is_below(row: Weight, layer: str) -> bool:
    return row.layer is not None and (row.layer == layer or row.layer.startswith(layer + "/"))


def _layers(weights: Sequence[Weight]) -> List[str]:
    """Return the address of every layer and of every layer around one, in weight order."""
    layers: Dict[str, None] = {}
    for row in weights:
        segments = row.layer.split("/") if row.layer else []
        for depth in range(1, len(segments) + 1):
            layers.setdefault("/".join(segments[:depth]))
    return list(layers)


def _native_names(row: Weight) -> List[str]:
    return [_without_zero(name) for name in (row.name,) + tuple(row.aliases) if name]


def _without_zero(name: str) -> str:
    return name[:-2] if name.endswith(":0") else name


def _known(weights: Sequence[Weight]) -> str:
    return "Weights: {}.".format(listing(weights)) if weights else "The target has no weights."


def _cut(texts: Sequence[str]) -> str:
    more = len(texts) - _MAX_LISTED
    return ", ".join(texts[:_MAX_LISTED]) + (" and {} more".format(more) if more > 0 else "")


def _suggestion(address: str, weights: Sequence[Weight]) -> str:
    """Compare with whole addresses, and with their ends that have as many segments as the address."""
    if len(address) > _MAX_COMPARED:
        return ""
    depth = address.count("/") + 1
    candidates = [row.address for row in weights] + _layers(weights)
    known = {candidate: candidate for candidate in candidates}
    for candidate in candidates:
        known.setdefault("/".join(candidate.split("/")[-depth:]), candidate)
    close = difflib.get_close_matches(_without_zero(address), known, n=3)
    meant = list(dict.fromkeys(known[text] for text in close))
    return " Did you mean {}?".format(" or ".join(repr(text) for text in meant)) if meant else ""


def _row_of_array(address: str, array: Any) -> Weight:
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise SpecTypeError(
            "weight {}: expected an array, received {}; np.zeros(shape) does where only the shape is known".format(
                show(address), show(array)
            )
        )
    values = np.asarray(array)
    if values.dtype.kind == "O":
        raise SpecTypeError("weight {}: {} has no values to read".format(show(address), show(array)))
    layer, _, role = address.rpartition("/") if isinstance(address, str) else ("", "", "")
    return Weight(address, values.shape, str(values.dtype), values=values, layer=layer, role=role)


def _checked_rows(weights: Any) -> List[Weight]:
    try:
        rows = list(weights)
    except TypeError:
        rows = [weights]
    for row in rows:
        if not isinstance(row, Weight):
            raise SpecTypeError("expected {{address: array}} or Weight rows, received {}".format(show(row)))
    return [row._replace(shape=tuple(int(length) for length in row.shape)) for row in rows]


def _numbered(rows: Sequence[Weight]) -> List[Weight]:
    numbered = []
    count = 0
    for row in rows:
        if row.trainable:
            row = row._replace(ordinal=count)
            count += 1
        numbered.append(row)
    return numbered
