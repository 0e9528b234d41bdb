"""Plain tables for people, as the commands print them."""

from collections.abc import Mapping, Sequence
from typing import Any

from meshmgmt.api.renderers import to_json
from meshmgmt.core.printable import printable

Column = tuple[str, str, str]
"""Heading, key, and the word for nothing; what is true is called by its key."""


def listed(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], *, as_json: bool
) -> str:
    """Return rows as one JSON document, else as a table of some of their values."""
    if as_json:
        return to_json(rows).decode()
    header = [heading for heading, _, _ in columns]
    lines = [
        [
            key if row[key] is True else row[key] or nothing
            for _, key, nothing in columns
        ]
        for row in rows
    ]
    return f"{aligned(header, lines)}\n"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return lines with columns of equal width; the last one is left ragged."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )
