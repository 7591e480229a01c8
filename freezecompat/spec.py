"""The spec: which elements of which weights, immutable, in Python and as a JSON file."""

import json
import os
import uuid
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import elements as _elements
from ._json_text import check_keys, read_json
from ._show import show
from .elements import Element
from .exceptions import FreezeCompatError, SpecTypeError, SpecValueError

_VERSION = 1


class Rule(NamedTuple):
    """One entry of a spec.

    Attributes:
        address: address, pattern, layer or variable object.
        elements: the description of its elements.

    Example:
        >>> FreezeSpec({"kernel": (1, 2)}).rules[0]
        Rule(address='kernel', elements=(1, 2))
    """

    address: Any
    elements: Element


class FreezeSpec:
    """Say which elements of which weights are frozen.

    Example:
        >>> spec = FreezeSpec({"hidden/kernel": [(1, 2), (3, 1)], "*/bias": "all"})
        >>> spec
        FreezeSpec({'hidden/kernel': [(1, 2), (3, 1)], '*/bias': 'all'})
        >>> FreezeSpec.from_json(spec.to_json()) == spec
        True
    """

    __slots__ = ("_rules",)

    def __init__(self, entries: Union["FreezeSpec", Mapping[Any, Any], Iterable[Tuple[Any, Any]]]) -> None:
        """Make a spec.

        Args:
            entries: `{address: elements}`, a list of pairs (address or variable object, elements), or a spec.

        Raises:
            SpecTypeError: no such thing, or elements of a wrong type.
            SpecValueError: no entries, or elements that can't be read.
            ElementIndexError: indices of different lengths.
        """
        if isinstance(entries, FreezeSpec):
            self._rules: Tuple[Rule, ...] = entries.rules
            return
        pairs = _pairs(entries)
        if not pairs:
            raise SpecValueError("the spec is empty; FreezeSpec.empty() is the one that freezes nothing yet")
        rules = []
        for number, (address, value) in enumerate(pairs, 1):
            with naming_entry(number, address):
                rules.append(Rule(address, _elements.parse(value)))
        self._rules = tuple(rules)

    @classmethod
    def empty(cls) -> "FreezeSpec":
        """Make the spec that freezes nothing yet.

        Returns:
            The spec.

        Example:
            >>> FreezeSpec.empty().rules
            ()
        """
        return cls._of_rules(())

    @classmethod
    def _of_rules(cls, rules: Iterable[Rule]) -> "FreezeSpec":
        spec = cls.__new__(cls)
        spec._rules = tuple(rules)
        return spec

    @property
    def rules(self) -> Tuple[Rule, ...]:
        """The entries, in the order given."""
        return self._rules

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "FreezeSpec":
        """Read a spec file; files that it names are relative to its folder.

        Args:
            path: the file.

        Returns:
            The spec.

        Raises:
            FileNotFoundError: there is no such file.
            SpecTypeError, SpecValueError, ElementIndexError: see `from_json`; the text names the file.

        Example:
            >>> FreezeSpec.load("no such file.json")
            Traceback (most recent call last):
            ...
            FileNotFoundError: [Errno 2] No such file or directory: 'no such file.json'
        """
        path = os.fspath(path)
        with open(path, encoding="utf-8-sig") as file, _context("{}: ".format(path)):
            try:
                text = file.read()
            except UnicodeDecodeError as error:
                raise SpecValueError("this is not UTF-8 text: {}".format(error)) from error
            return cls.from_json(text, folder=os.path.dirname(os.path.abspath(path)))

    def dump(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the spec to a JSON file; a failure leaves what was there.

        Args:
            path: the file; replaced if it is there.

        Raises:
            SpecTypeError: an address is a variable object.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     FreezeSpec({"kernel": "all"}).dump(os.path.join(folder, "spec.json"))
            ...     FreezeSpec.load(os.path.join(folder, "spec.json"))
            FreezeSpec({'kernel': 'all'})
        """
        text = self.to_json()
        target = os.path.realpath(os.fspath(path))
        temporary = "{}.{}.tmp".format(target, uuid.uuid4().hex)
        try:
            with open(temporary, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(temporary, target)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise

    @classmethod
    def from_json(cls, text: str, folder: Optional[str] = None) -> "FreezeSpec":
        """Read a spec from JSON text.

        Args:
            text: `{"freezecompat": 1, "freeze": [{"weight": ADDRESS, "elements": ...}, ...]}`.
            folder: the folder that mask files are relative to.

        Returns:
            The spec.

        Raises:
            SpecTypeError: elements of a wrong type.
            SpecValueError: no JSON, another version, unknown, missing or repeated keys, a mask that can't be read.
            ElementIndexError: indices of different lengths.

        Example:
            >>> FreezeSpec.from_json('{"freezecompat": 1, "freeze": [{"weight": "kernel", "elements": [[1, 2]]}]}')
            FreezeSpec({'kernel': (1, 2)})
        """
        read = read_json(text)
        if isinstance(read, dict) and "freezecompat" in read:
            _check_version(read["freezecompat"])
        check_keys(read, ("freezecompat", "freeze"), "a spec file")
        if not isinstance(read["freeze"], list):
            raise SpecValueError("'freeze' is a list of entries, received {}".format(show(read["freeze"])))
        rules = []
        for number, entry in enumerate(read["freeze"], 1):
            address = entry.get("weight") if isinstance(entry, dict) else None
            with naming_entry(number, address):
                check_keys(entry, ("weight", "elements"), "an entry")
                if not isinstance(address, str):
                    raise SpecTypeError("'weight' is an address, received {}".format(show(address)))
                rules.append(Rule(address, _elements.from_json(entry["elements"], folder)))
        return cls._of_rules(rules)

    def to_json(self) -> str:
        """Write the spec as JSON text, the same text for the same spec.

        Returns:
            The text, an entry a line.

        Raises:
            SpecTypeError: an address is a variable object.

        Example:
            >>> print(FreezeSpec({"kernel": (1, 2)}).to_json(), end="")
            {
              "freezecompat": 1,
              "freeze": [
                {"weight": "kernel", "elements": [[1, 2]]}
              ]
            }
        """
        entries = []
        for number, rule in enumerate(self._rules, 1):
            with naming_entry(number, rule.address):
                if not isinstance(rule.address, str):
                    raise SpecTypeError("a variable object can't be written to a file; use its address")
                entry: Dict[str, Any] = {"weight": rule.address, "elements": rule.elements.to_json()}
            entries.append("\n    " + json.dumps(entry, allow_nan=False))
        inside = ",".join(entries) + "\n  " if entries else ""
        return '{{\n  "freezecompat": {},\n  "freeze": [{}]\n}}\n'.format(_VERSION, inside)

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, FreezeSpec):
            return NotImplemented
        if len(self._rules) != len(other._rules):
            return False
        return all(
            _same_address(a.address, b.address) and a.elements == b.elements for a, b in zip(self._rules, other._rules)
        )

    def __hash__(self) -> int:
        if not all(isinstance(rule.address, str) for rule in self._rules):
            raise TypeError("a FreezeSpec with variable objects as addresses has no hash")
        return hash(self._rules)

    def __repr__(self) -> str:
        if not self._rules:
            return "FreezeSpec.empty()"
        texts = [
            (
                repr(rule.address) if isinstance(rule.address, str) else "<{}>".format(show(rule.address)),
                repr(rule.elements),
            )
            for rule in self._rules
        ]
        if len({address for address, _ in texts}) == len(texts):
            return "FreezeSpec({{{}}})".format(", ".join("{}: {}".format(*text) for text in texts))
        return "FreezeSpec([{}])".format(", ".join("({}, {})".format(*text) for text in texts))


@contextmanager
def naming_entry(number: int, address: Any) -> Iterator[None]:
    """Put the entry before the text of an error, whose class stays.

    Args:
        number: position of the entry, from 1.
        address: its address; None if it has none.

    Example:
        >>> with naming_entry(2, "kernel"):
        ...     raise SpecValueError("selects nothing")
        Traceback (most recent call last):
        ...
        freezecompat.exceptions.SpecValueError: entry 2, 'kernel': selects nothing
    """
    where = "entry {}: ".format(number) if address is None else "entry {}, {}: ".format(number, show(address))
    with _context(where):
        yield


@contextmanager
def _context(prefix: str) -> Iterator[None]:
    try:
        yield
    except FreezeCompatError as error:
        raise type(error)(prefix + str(error)) from error.__cause__


def _pairs(entries: Any) -> List[Tuple[Any, Any]]:
    if isinstance(entries, Mapping):
        return list(entries.items())
    try:
        pairs = [] if isinstance(entries, (str, bytes)) else list(entries)
    except TypeError:
        pairs = None
    if pairs is None or isinstance(entries, (str, bytes)):
        raise SpecTypeError(
            "a spec is {{address: elements}} or a list of pairs (address, elements), received {}; a file is read by "
            "FreezeSpec.load(path)".format(show(entries))
        )
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise SpecTypeError(
                "entry {} is no pair (address, elements), received {}; a spec is {{address: elements}} or a list of "
                "pairs".format(number, show(pair))
            )
    return [(pair[0], pair[1]) for pair in pairs]


def _same_address(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, str) and isinstance(b, str) and a == b)


def _check_version(version: Any) -> None:
    if type(version) is not int or version != _VERSION:
        raise SpecValueError(
            "the file has version {}, this freezecompat reads version {}; a newer one may read it".format(
                show(version), _VERSION
            )
        )
