"""Print a result: in colour on a terminal that has rich, the same words as plain text elsewhere."""

from typing import Any, Dict, List, TextIO

from .table import Table, plain, remarks, tables
from .verdict import verdict


def print_result(result: Dict[str, Any], stream: TextIO) -> None:
    """Print the tables, what did not run, and in the last line the verdict."""
    shown = tables(result)
    rich = _rich(stream, shown)
    for table in shown:
        print(table.heading, file=stream)
        if rich is None:
            print(plain(table), file=stream)
        else:
            _print_rich(rich, table)
        print(file=stream)
    for line in remarks(result):
        print(line, file=stream)
    if rich is None:
        print(verdict(result), file=stream)
    else:
        style = "green" if result["passed"] else "bold red"
        rich.print(verdict(result), style=style, markup=False, highlight=False, soft_wrap=True)


def _rich(stream: TextIO, shown: List[Table]) -> Any:
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    widest = max(len(line) for table in shown for line in plain(table).splitlines())
    console = Console(file=stream)
    console.width = max(console.width, widest + 2)  # a terminal wraps long lines; rich would cut them off
    return console


def _print_rich(rich: Any, table: Table) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, padding=(0, 1))
    for column in table.columns:
        shown.add_column(column)
    for row in table.rows:
        shown.add_row(*[Text(cell, style=_STYLES.get(cell, "")) for cell in row])
    rich.print(shown)


_STYLES = {"failed": "bold red", "timeout": "bold red", "unavailable": "yellow"}
