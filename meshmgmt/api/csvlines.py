"""Rows as CSV, for programs that calculate tables."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import orjson

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_RISKY: Final = re.compile(r'[=+\-@\t\r](?<![^,"].)', re.DOTALL)
"""Finds every line with a cell that begins so, and few others: most are written once."""

_WRITTEN_AS_THEY_ARE: Final = frozenset({str, int, type(None)})
_PIECE: Final = 64
"""Lines that are sent at once: one alone is not worth a write of its own."""


class _Echo:
    """Lets a writer return its lines."""

    def write(self, line: str) -> str:
        return line


def csv_lines(fields: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Yield a heading and one line per row (RFC 4180), in pieces; objects as JSON text.

    Rows hold a value for each field; None is empty. Cells that a spreadsheet would run as
    a formula are quoted: names are chosen by users, and the reader of an export is often
    an administrator.
    """
    writer: Any = csv.writer(_Echo())
    lines = [writer.writerow(fields)]
    for row in rows:
        cells = [
            value
            if type(value) in _WRITTEN_AS_THEY_ARE
            else orjson.dumps(value).decode()
            for value in row
        ]
        line = writer.writerow(cells)
        if _RISKY.search(line):
            line = writer.writerow([_quoted(value) for value in cells])
        lines.append(line)
        if len(lines) == _PIECE:
            yield "".join(lines).encode()
            lines = []
    yield "".join(lines).encode()


def _quoted(value: str | int | None) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
