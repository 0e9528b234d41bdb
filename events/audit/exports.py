"""Exports of the audit trail: one JSON object per line, or CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from events.audit.rows import Row

FIELDS: Final = (
    "id",
    "timestamp",
    "activity",
    "activity_code",
    "initiator_id",
    "initiator_name",
    "initiator_email",
    "target_id",
    "target_type",
    "meta",
    "changes",
    "request_id",
    "source_address",
    "token_id",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def ndjson_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def csv_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield a heading and one line per event (RFC 4180); objects as JSON text."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(FIELDS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in FIELDS])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a cell's text; one that a spreadsheet would run as a formula is quoted.

    Names are chosen by users, and the reader of an export is often an administrator.
    """
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return f"'{text}" if text.startswith(_FORMULA) else text
