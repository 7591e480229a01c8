"""The APIs that an experiment is trained under."""

from typing import List, Optional, Sequence

from ..exceptions import ArgumentError

#: In the order of the tables.
APIS = ("tf1-eager", "tf1-graph", "keras-fit", "keras-loop")


def wanted(apis: Optional[Sequence[str]]) -> List[str]:
    """The APIs that were asked for, in the order of the tables; all of them for None.

    Example:
        >>> wanted(["keras-fit", "tf1-eager"])
        ['tf1-eager', 'keras-fit']

    Raises:
        ArgumentError: there is no such API, or none is asked for.
    """
    if apis is None:
        return list(APIS)
    asked = [apis] if isinstance(apis, str) else list(apis)
    for api in asked:
        if api not in APIS:
            raise ArgumentError("there is no API {!r}: give some of {}".format(api, ", ".join(APIS)))
    if not asked:
        raise ArgumentError("no API is asked for: give some of {}".format(", ".join(APIS)))
    return [api for api in APIS if api in asked]
