"""YAML that was written by somebody else, as the plain values that JSON gives; PyYAML is imported where it is used."""

from typing import Any

from ._json_text import JsonObject
from ._show import show
from .exceptions import MissingDependency, SpecTypeError, SpecValueError

# PyYAML's own parser takes a second for so many, at their worst.
_MAX_TEXT = 40000
_MAX_DEPTH = 100


def is_yaml(path: str) -> bool:
    """Say whether a file is YAML by its name.

    Example:
        >>> is_yaml("spec.yaml"), is_yaml("spec.json")
        (True, False)
    """
    return path.lower().endswith((".yaml", ".yml"))


def read_yaml(text: str) -> Any:
    """Read a YAML text.

    Args:
        text: the text, of at most 40000 characters.

    Returns:
        Lists, strings, numbers, True, False, None, and `JsonObject`s, as from JSON.

    Raises:
        MissingDependency: PyYAML is not installed.
        SpecValueError: not YAML, too long, nested too deeply, with aliases or tags.
    """
    yaml = _yaml()
    if len(text) > _MAX_TEXT:
        raise SpecValueError(
            "this YAML has {} characters, {} are allowed; write JSON, or put masks into .npy files".format(
                len(text), _MAX_TEXT
            )
        )
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = _composed(yaml, loader)
            return _plain(yaml, loader, node, 0)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise SpecValueError("this is not YAML: {}".format(" ".join(str(error).split()))) from None
    except RecursionError:
        raise SpecValueError("this YAML is nested too deeply for a spec") from None
    except ValueError as error:  # a date that is none
        if isinstance(error, SpecValueError):
            raise
        raise SpecValueError("this is not YAML: {}".format(error)) from None


def write_yaml(value: Any) -> str:
    """Write plain values as YAML, the same text for the same values.

    Raises:
        MissingDependency: PyYAML is not installed.
    """
    return _yaml().safe_dump(value, sort_keys=False, default_flow_style=None, width=100000)


def _composed(yaml: Any, loader: Any) -> Any:
    node = loader.get_single_node()
    if node is None:
        raise SpecValueError("this YAML is empty")
    return node


def _plain(yaml: Any, loader: Any, node: Any, depth: int) -> Any:
    # Composed nodes are walked here: an alias is the same node again, and nine of nine of nine of them are a bomb.
    if depth > _MAX_DEPTH:
        raise SpecValueError("this YAML is nested too deeply for a spec")
    if getattr(node, "seen", False):
        raise SpecValueError("this YAML has an alias (*name), which a spec does not need")
    if not isinstance(node, yaml.ScalarNode):
        node.seen = True
    if not node.tag.startswith("tag:yaml.org,2002:") or "python" in node.tag:
        raise SpecValueError("this YAML has a tag ({}), which a spec does not need".format(show(node.tag)))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(yaml, loader, item, depth + 1) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        read = JsonObject()
        for key_node, value_node in node.value:
            key = _plain(yaml, loader, key_node, depth + 1)
            if not isinstance(key, str):
                raise SpecTypeError("a key is text, received {}".format(show(key)))
            if key in read:
                read.repeated = key
            read[key] = _plain(yaml, loader, value_node, depth + 1)
        return read
    return loader.construct_object(node)


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingDependency(
            'reading and writing YAML needs PyYAML: pip install "freezecompat[cli]", or use a .json file'
        ) from error
    return yaml
