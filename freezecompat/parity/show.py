"""Print a result: tables, what did not run, and the verdict."""

from typing import Any, Dict, TextIO

from .._terminal import print_table, print_verdict
from .table import remarks, tables
from .verdict import verdict

_STYLES = {"failed": "bold red", "timeout": "bold red", "unavailable": "yellow"}


def print_result(result: Dict[str, Any], stream: TextIO) -> None:
    """Print the tables, what did not run, and in the last line the verdict."""
    for table in tables(result):
        print(table.heading, file=stream)
        print_table([table.columns] + table.rows, stream, _STYLES)
        print(file=stream)
    for line in remarks(result):
        print(line, file=stream)
    print_verdict(verdict(result), result["passed"], stream)
