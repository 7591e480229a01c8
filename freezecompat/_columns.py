"""Rows of cells as text."""

from typing import Optional, Sequence


def columns(lines: Sequence[Sequence[str]], left: Optional[int] = None) -> str:
    """Lay out rows of equal length in columns, two spaces apart.

    Args:
        lines: rows of cells, the heads of the columns among them.
        left: how many columns, from the first on, are aligned to the left, the others to the right; None: all.

    Returns:
        A line for each row, without spaces at its end.

    Example:
        >>> print(columns([["weight", "moved"], ["first/kernel", "0"], ["first/bias", "12"]], left=1))
        weight        moved
        first/kernel      0
        first/bias       12
    """
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if left is None or k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )
