"""How far apart the free elements of two runs are."""

import itertools
from typing import Any, Dict, List

import numpy as np

from .._json_text import plain
from .ulp import hex_bits, ulp_distance


def compare(runs: List[Dict[str, Any]], tolerance: int) -> List[Dict[str, Any]]:
    """A row for every two runs that ran."""
    ran = [k for k, run in enumerate(runs) if run["status"] == "ran"]
    return [_pair(runs, first, second, tolerance) for first, second in itertools.combinations(ran, 2)]


def _pair(runs: List[Dict[str, Any]], first: int, second: int, tolerance: int) -> Dict[str, Any]:
    a, b = _weights_of(runs[first]), _weights_of(runs[second])
    reasons = ["only one has {}".format(address) for address in a.keys() ^ b.keys()]
    rows = []
    for address in a:
        if address not in b:
            continue
        (final_a, mask_a), (final_b, mask_b) = a[address], b[address]
        if final_a.shape != final_b.shape or final_a.dtype != final_b.dtype:
            reasons.append(
                "{} is {} {} and {} {}".format(address, final_a.dtype, final_a.shape, final_b.dtype, final_b.shape)
            )
            continue
        if (mask_a != mask_b).any():
            reasons.append("different elements of {} are frozen".format(address))
        rows.append(_weight(address, final_a, final_b, mask_a | mask_b))
    largest = max((row["max_ulp"] for row in rows), default=0)
    return {
        "first": first,
        "second": second,
        "apis": [runs[first]["api"], runs[second]["api"]],
        "max_ulp": largest,
        "within": largest <= tolerance and not reasons,
        "reasons": sorted(reasons),
        "weights": rows,
    }


def _weights_of(run: Dict[str, Any]) -> Dict[str, Any]:
    arrays = run["arrays"]
    return {
        weight["address"]: (arrays["final_{}".format(k)], arrays["mask_{}".format(k)])
        for k, weight in enumerate(run["weights"])
        if arrays["final_{}".format(k)].dtype.kind == "f"
    }


def _weight(address: str, a: np.ndarray, b: np.ndarray, frozen: np.ndarray) -> Dict[str, Any]:
    distance = np.where(frozen, np.uint64(0), ulp_distance(a, b))
    row = {"address": address, "max_ulp": 0, "element": None, "first": None, "second": None}
    row.update(first_bits=None, second_bits=None)
    if distance.any():
        element = np.unravel_index(distance.argmax(), distance.shape)
        row.update(
            max_ulp=int(distance[element]),
            element=[int(k) for k in element],
            first=plain(a[element]),
            second=plain(b[element]),
            first_bits=hex_bits(a[element])[0],
            second_bits=hex_bits(b[element])[0],
        )
    return row
