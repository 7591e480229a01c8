"""The spec: which elements of which weights, immutable, in Python and as a JSON or YAML file."""

import json
import os
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import elements as _elements
from ._json_text import check_keys, read_json
from ._show import show
from ._text_file import check_version, naming, read_file, write_file
from .elements import Element
from .elements.base import without_pins
from .exceptions import SpecTypeError, SpecValueError

_VERSION = 1
_MAX_DEPTH = 50
_OPERATIONS = {"or": "|", "and": "&", "not": "~"}


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

    `|`, `&` and `~` combine specs: what either freezes, what both freeze, and all other elements of the trainable weights.

    Example:
        >>> spec = FreezeSpec({"hidden/kernel": [(1, 2), (3, 1)], "*/bias": "all"})
        >>> spec
        FreezeSpec({'hidden/kernel': [(1, 2), (3, 1)], '*/bias': 'all'})
        >>> FreezeSpec.from_json(spec.to_json()) == spec
        True
        >>> ~spec
        ~FreezeSpec({'hidden/kernel': [(1, 2), (3, 1)], '*/bias': 'all'})
    """

    __slots__ = ("_rules", "_operation", "_specs")

    def __init__(self, entries: Union["FreezeSpec", Mapping[Any, Any], Iterable[Tuple[Any, Any]]]) -> None:
        """Make a spec.

        Args:
            entries: `{address: elements}`, a list of pairs (address or variable object, elements), or a spec.

        Raises:
            SpecTypeError: no such thing, or elements of a wrong type.
            SpecValueError: no entries, or elements that can't be read.
            ElementIndexError: indices of different lengths.
        """
        self._operation: Optional[str] = None
        self._specs: Tuple[FreezeSpec, ...] = ()
        if isinstance(entries, FreezeSpec):
            self._rules: Tuple[Rule, ...] = entries.rules
            self._operation, self._specs = entries.operation, entries.specs
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
        spec._rules, spec._operation, spec._specs = tuple(rules), None, ()
        return spec

    @classmethod
    def _of_specs(cls, operation: str, specs: Sequence["FreezeSpec"]) -> "FreezeSpec":
        if operation != "or":
            for spec in specs:
                spec._check_no_pins(_OPERATIONS[operation])
        combined = cls._of_rules(())
        combined._operation = operation
        combined._specs = tuple(
            inner
            for spec in specs
            for inner in (spec.specs if spec.operation == operation and operation != "not" else (spec,))
        )
        return combined

    @property
    def rules(self) -> Tuple[Rule, ...]:
        """The entries, in the order given; none of a combination."""
        return self._rules

    @property
    def operation(self) -> Optional[str]:
        """What combines `specs`: "or", "and" or "not"; None of a spec that has entries."""
        return self._operation

    @property
    def specs(self) -> Tuple["FreezeSpec", ...]:
        """The specs that it combines; none of a spec that has entries."""
        return self._specs

    def every_rule(self) -> Iterator[Rule]:
        """The entries of this spec and of all that it combines.

        Example:
            >>> [rule.address for rule in (~FreezeSpec({"a": "all"}) | {"b": "all"}).every_rule()]
            ['a', 'b']
        """
        yield from self._rules
        for spec in self._specs:
            yield from spec.every_rule()

    def _check_no_pins(self, sign: str) -> None:
        for spec in self._specs:
            spec._check_no_pins(sign)
        for number, rule in enumerate(self._rules, 1):
            with naming_entry(number, rule.address):
                without_pins(rule.elements, sign)

    def __or__(self, other: Any) -> "FreezeSpec":
        return FreezeSpec._of_specs("or", [self, FreezeSpec(other)])

    def __ror__(self, other: Any) -> "FreezeSpec":
        return FreezeSpec._of_specs("or", [FreezeSpec(other), self])

    def __and__(self, other: Any) -> "FreezeSpec":
        return FreezeSpec._of_specs("and", [self, FreezeSpec(other)])

    def __rand__(self, other: Any) -> "FreezeSpec":
        return FreezeSpec._of_specs("and", [FreezeSpec(other), self])

    def __invert__(self) -> "FreezeSpec":
        return FreezeSpec._of_specs("not", [self])

    @classmethod
    def from_masks(
        cls, masks: Union[Mapping[str, Any], str, "os.PathLike[str]"], *, true_means: str = "frozen"
    ) -> "FreezeSpec":
        """Make a spec of masks that were made elsewhere.

        Args:
            masks: `{address: bool array}`, or the path of an .npz file of them.
            true_means: "frozen", or "trained" where True marks what trains.

        Returns:
            The spec, an entry for each mask that freezes anything.

        Raises:
            FileNotFoundError: there is no such file.
            SpecTypeError: a mask is no bool array.
            SpecValueError: no .npz file, another word for `true_means`, or nothing is frozen.

        Example:
            >>> FreezeSpec.from_masks({"kernel": np.array([True, False])}, true_means="trained")
            FreezeSpec({'kernel': mask(np.array([False, True]))})
        """
        if true_means not in ("frozen", "trained"):
            raise SpecValueError('true_means is "frozen" or "trained", received {}'.format(show(true_means)))
        found = masks if isinstance(masks, Mapping) else _load_npz(os.fspath(masks))
        rules = []
        for number, (address, array) in enumerate(found.items(), 1):
            with naming_entry(number, address):
                mask = _elements.mask(array)
                if true_means == "trained":
                    mask = _elements.mask(~mask.array)
            if mask.array.any():
                rules.append(Rule(address, mask))
        if not rules:
            raise SpecValueError(
                "the masks freeze no element; is it true_means={!r}?".format(
                    "trained" if true_means == "frozen" else "frozen"
                )
            )
        return cls._of_rules(rules)

    @classmethod
    def from_pruned(cls, model: Any, *, session: Any = None) -> "FreezeSpec":
        """Make a spec that freezes what TensorFlow Model Optimization has pruned, so that it stays 0 in further training.

        The addresses are those of the model after `strip_pruning`, and hold in the pruned one too.

        Args:
            model: a model or layer of `tfmot.sparsity.keras.prune_low_magnitude`, not stripped yet.
            session: in a TF1 graph, the session whose masks are meant.

        Returns:
            The spec, an entry for each weight of which anything is pruned.

        Raises:
            ArgumentError: nothing in the model prunes, or a session is needed.
            SpecValueError: nothing is pruned yet.

        Example (with TensorFlow):
            >>> spec = FreezeSpec.from_pruned(pruned)               # doctest: +SKIP
            >>> model = tfmot.sparsity.keras.strip_pruning(pruned)  # doctest: +SKIP
            >>> frozen = fc.freeze(model, spec)                     # doctest: +SKIP
        """
        from .backends.pruned import pruned_elements  # only here: specs need no TensorFlow

        masks = pruned_elements(model, session)
        if not any(mask.any() for mask in masks.values()):
            raise SpecValueError("nothing is pruned yet in {}: train the model first".format(", ".join(masks)))
        return cls.from_masks(masks)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "FreezeSpec":
        """Read a spec file; files that it names are relative to its folder.

        Args:
            path: the file; YAML if its name ends in .yaml or .yml, else JSON.

        Returns:
            The spec.

        Raises:
            FileNotFoundError: there is no such file.
            MissingDependency: YAML, and PyYAML is not installed.
            SpecTypeError, SpecValueError, ElementIndexError: see `from_json`; the text names the file.

        Example:
            >>> FreezeSpec.load("no such file.json")
            Traceback (most recent call last):
            ...
            FileNotFoundError: [Errno 2] No such file or directory: 'no such file.json'
        """
        return read_file(path, cls._of_object)

    def dump(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the spec to a file; a failure leaves what was there.

        Args:
            path: the file, replaced if it is there; YAML if its name ends in .yaml or .yml, else JSON.

        Raises:
            SpecTypeError: an address is a variable object, or elements are chosen by a function.
            MissingDependency: YAML, and PyYAML is not installed.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     FreezeSpec({"kernel": "all"}).dump(os.path.join(folder, "spec.json"))
            ...     FreezeSpec.load(os.path.join(folder, "spec.json"))
            FreezeSpec({'kernel': 'all'})
        """
        write_file(path, self.to_json())

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
        return cls._of_object(read_json(text), folder)

    @classmethod
    def _of_object(cls, read: Any, folder: Optional[str]) -> "FreezeSpec":
        if isinstance(read, dict) and "freezecompat" in read:
            check_version(read["freezecompat"], _VERSION)
        kind = ("op", "specs") if isinstance(read, dict) and "op" in read else ("freeze",)
        check_keys(read, ("freezecompat",) + kind, "a spec file")
        return cls._of_part(read, folder, 0)

    @classmethod
    def _of_part(cls, read: Any, folder: Optional[str], depth: int) -> "FreezeSpec":
        if depth > _MAX_DEPTH:
            raise SpecValueError("specs are nested more than {} deep".format(_MAX_DEPTH))
        if isinstance(read, dict) and "op" in read:
            operation, parts = read["op"], read.get("specs")
            if not isinstance(operation, str) or operation not in _OPERATIONS:
                raise SpecValueError("'op' is one of {}, received {}".format(", ".join(_OPERATIONS), show(operation)))
            if not isinstance(parts, list) or (len(parts) != 1 if operation == "not" else len(parts) < 2):
                raise SpecValueError(
                    "'specs' of {!r} is a list of {}, received {}".format(
                        operation, "one spec" if operation == "not" else "two specs or more", show(parts)
                    )
                )
            for part in parts:
                check_keys(part, ("op", "specs") if isinstance(part, dict) and "op" in part else ("freeze",), "a spec")
            return cls._of_specs(operation, [cls._of_part(part, folder, depth + 1) for part in parts])
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

    @classmethod
    def from_part(cls, read: Any, folder: Optional[str] = None) -> "FreezeSpec":
        """Read a spec that stands in a file of another kind, which `to_part` wrote.

        Args:
            read: what JSON gave: a list of entries, or an object with the keys "op" and "specs".
            folder: the folder that mask files are relative to.

        Returns:
            The spec.

        Raises:
            As `from_json`.

        Example:
            >>> FreezeSpec.from_part([{"weight": "kernel", "elements": "all"}])
            FreezeSpec({'kernel': 'all'})
        """
        part = {"freeze": read} if isinstance(read, list) else read
        check_keys(part, ("freeze",) if isinstance(read, list) else ("op", "specs"), "a spec is a list of entries or")
        return cls._of_part(part, folder, 0)

    def to_part(self) -> Any:
        """Write the spec as plain values, for a file of another kind.

        Returns:
            A list of entries, or an object with the keys "op" and "specs".

        Raises:
            SpecTypeError: as `to_json`.

        Example:
            >>> FreezeSpec({"kernel": (1, 2)}).to_part()
            [{'weight': 'kernel', 'elements': [[1, 2]]}]
        """
        written = json.loads(self.to_json())
        del written["freezecompat"]
        return written["freeze"] if self._operation is None else written

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
        lines = self._lines("  ")
        return '{{\n  "freezecompat": {},\n  {}\n}}\n'.format(_VERSION, lines)

    def _lines(self, indent: str) -> str:
        """The keys of one spec, the first line without its indent."""
        inner = indent + "  "
        if self._operation is not None:
            parts = [
                "{}{{\n{}  {}\n{}}}".format(inner, inner, spec._lines(inner + "  "), inner) for spec in self._specs
            ]
            return '"op": "{}",\n{}"specs": [\n{}\n{}]'.format(self._operation, indent, ",\n".join(parts), indent)
        entries = []
        for number, rule in enumerate(self._rules, 1):
            with naming_entry(number, rule.address):
                if not isinstance(rule.address, str):
                    raise SpecTypeError("a variable object can't be written to a file; use its address")
                entry: Dict[str, Any] = {"weight": rule.address, "elements": rule.elements.to_json()}
            entries.append("\n" + inner + json.dumps(entry, allow_nan=False))
        return '"freeze": [{}]'.format(",".join(entries) + "\n" + indent if entries else "")

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, FreezeSpec):
            return NotImplemented
        if (self._operation, self._specs) != (other._operation, other._specs) or len(self._rules) != len(other._rules):
            return False
        return all(
            _same_address(a.address, b.address) and a.elements == b.elements for a, b in zip(self._rules, other._rules)
        )

    def __hash__(self) -> int:
        if not all(isinstance(rule.address, str) for rule in self._rules):
            raise TypeError("a FreezeSpec with variable objects as addresses has no hash")
        return hash((self._rules, self._operation, self._specs))

    def __repr__(self) -> str:
        if self._operation is not None:
            texts = [repr(spec) if spec.operation in (None, "not") else "({!r})".format(spec) for spec in self._specs]
            sign = _OPERATIONS[self._operation]
            return "~" + texts[0] if self._operation == "not" else " {} ".format(sign).join(texts)
        if not self._rules:
            return "FreezeSpec.empty()"
        entries = [
            (
                repr(rule.address) if isinstance(rule.address, str) else "<{}>".format(show(rule.address)),
                repr(rule.elements),
            )
            for rule in self._rules
        ]
        if len({address for address, _ in entries}) == len(entries):
            return "FreezeSpec({{{}}})".format(", ".join("{}: {}".format(*entry) for entry in entries))
        return "FreezeSpec([{}])".format(", ".join("({}, {})".format(*entry) for entry in entries))


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
    with naming(where):
        yield


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


def _load_npz(path: str) -> Dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except Exception as error:  # a folder, a zip that is broken, a pickle, one array instead of several
        raise SpecValueError("{} is no .npz file of masks: {}".format(show(path), error)) from error
