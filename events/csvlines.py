"""Rows as CSV, for programs that calculate tables."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(
    fields: tuple[str, ...], rows: Iterable[Mapping[str, Any]]
) -> Iterator[bytes]:
    """Yield a heading and one line per row (RFC 4180); objects as JSON text.

    Fields that a row does not have are empty.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(fields)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in fields])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a cell's text; one that a spreadsheet would run as a formula is quoted.

    Names are chosen by users, and the reader of an export is often an administrator.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(_FORMULA) else text
