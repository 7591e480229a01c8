"""Which elements of a weight a rule selects: immutable descriptions, each a few lines.

    positions((1, 2))  rows([0])  slices("1:3, :")  mask(array)  all()     by where they stand     indexed.py
    where("abs(w) < 1e-3")  zeros()  smallest(0.8)  random(0.5)            by value or chance      by_value.py
    units([0, 3])  gates("forget")                                         by meaning in a layer   of_layers.py
    pin(elements, 0.0)                                                     set when frozen         pinned.py
    a | b   a & b   ~a                                                     set algebra             base.py

A new kind of element is one class in one of these files, with `select` and `to_json`, a public constructor, a line in
`parse` if plain Python values stand for it, and one in the table of `reading.py` if a JSON object does.
"""

from .base import AllOf, AnyOf, Chosen, Element, Not, Pinned, all_of, any_of
from .by_value import Random, Ranked, Where, WhereTrue, Zeros, largest, nonzero, random, smallest, where, zeros
from .indexed import Everything, Mask, Positions, Rows, Slices, all, mask, positions, rows, slices
from .of_layers import GRU_GATES, LSTM_GATES, Gates, Units, gates, units
from .pinned import Pin, pin
from .reading import from_json, parse

__all__ = [
    "AllOf",
    "AnyOf",
    "Chosen",
    "Element",
    "Everything",
    "GRU_GATES",
    "Gates",
    "LSTM_GATES",
    "Mask",
    "Not",
    "Pin",
    "Pinned",
    "Positions",
    "Random",
    "Ranked",
    "Rows",
    "Slices",
    "Units",
    "Where",
    "WhereTrue",
    "Zeros",
    "all",
    "all_of",
    "any_of",
    "from_json",
    "gates",
    "largest",
    "mask",
    "nonzero",
    "parse",
    "pin",
    "positions",
    "random",
    "rows",
    "slices",
    "smallest",
    "units",
    "where",
    "zeros",
]
