"""What commands print: with colours on a terminal that has rich, the same words as plain text elsewhere."""

from typing import Any, Mapping, Sequence, TextIO

from ._columns import columns

_NO_STYLES: Mapping[str, str] = {}


def print_table(lines: Sequence[Sequence[str]], stream: TextIO, styles: Mapping[str, str] = _NO_STYLES) -> None:
    """Print rows of cells in columns.

    Args:
        lines: rows of equal length, the heads of the columns first.
        stream: where.
        styles: how rich shows a cell of a text: `{"failed": "bold red"}`.

    Example:
        >>> import sys
        >>> print_table([["weight", "moved"], ["first/kernel", "0"]], sys.stdout)
        weight        moved
        first/kernel  0
    """
    text = columns(lines)
    console = _console(stream)
    if console is None:
        print(text, file=stream)
        return
    from rich.table import Table
    from rich.text import Text

    # A terminal wraps long lines; rich would cut them off.
    console.width = max(console.width, max(map(len, text.splitlines())) + 2)
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for head in lines[0]:
        table.add_column(Text(head))
    for line in lines[1:]:
        table.add_row(*[Text(cell, style=styles.get(cell, "")) for cell in line])
    console.print(table)


def print_verdict(text: str, good: bool, stream: TextIO) -> None:
    """Print a last line: green where all is well, else red."""
    console = _console(stream)
    if console is None:
        print(text, file=stream)
    else:
        console.print(text, style="green" if good else "bold red", markup=False, highlight=False, soft_wrap=True)


def _console(stream: TextIO) -> Any:
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream)
