"""Answers that are files: one JSON object per line, CSV, or one JSON array."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import orjson
from django.http import StreamingHttpResponse
from rest_framework.renderers import BaseRenderer

Row = Mapping[str, Any]

_LINES_AT_ONCE: Final = 100
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_QUOTED: Final = re.compile(r'[",\r\n]')
_BETWEEN: Final = "\0"
_SPECIAL: Final = re.compile(r'[",\r\n=+\-@\t](?:(?<=[",\r\n])|(?<![^\0].))', re.DOTALL)
"""Finds what keeps any of a column's cells, joined, from being written as it is."""

_PIECE: Final = 64
"""Lines that are made and sent at once: most columns of so many need one look only."""


class NdjsonRenderer(BaseRenderer):
    """Chosen by `Accept: application/x-ndjson`."""

    media_type = "application/x-ndjson"
    format = "ndjson"


class CsvRenderer(BaseRenderer):
    media_type = "text/csv"
    format = "csv"


RENDERERS = {"ndjson": NdjsonRenderer, "csv": CsvRenderer}


JSON: Final = "application/json"


def export(name: str, kind: str, pieces: Iterator[bytes]) -> StreamingHttpResponse:
    """Return a file; its first piece is read before the headers are sent."""
    # What fails at once is still answered by an error, not by half a file.
    first = next(pieces, b"")
    media_type = RENDERERS[kind].media_type if kind in RENDERERS else JSON
    response = StreamingHttpResponse(
        chain([first], pieces), content_type=f"{media_type}; charset=UTF-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.{kind}"'
    return response


def pieces_of(kind: str, fields: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield rows as a file of that kind; `fields` are the columns of CSV, in order."""
    if kind == CsvRenderer.format:
        return csv_lines(fields, (map(row.get, fields) for row in rows))
    return ndjson_lines(rows) if kind == NdjsonRenderer.format else _array(rows)


def ndjson_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield an object a line, many lines at once: each piece is a write to the client."""
    lines = (orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    while piece := b"".join(islice(lines, _LINES_AT_ONCE)):
        yield piece


def _array(rows: Iterable[Row]) -> Iterator[bytes]:
    """Yield one array, an object a line."""
    before = b"[\n"
    for row in rows:
        yield before + orjson.dumps(row)
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def csv_lines(fields: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    """Yield a heading and one line per row (RFC 4180), in pieces; objects as JSON text.

    There are two fields at least. Rows hold a value for each; None is empty. Cells that
    a spreadsheet would run as a formula are quoted: names are chosen by users, and the
    reader of an export is often an administrator.
    """
    lines = chain([fields], rows)
    while piece := list(islice(lines, _PIECE)):
        columns = map(_column, zip(*piece, strict=True))
        texts = map(",".join, zip(*columns, strict=True))
        yield "\r\n".join((*texts, "")).encode()


def _column(values: Sequence[Any]) -> Sequence[str]:
    """Return the cells of a column as their lines hold them."""
    # Most columns are texts without anything special: one search clears all of their cells.
    plain = set(map(type, values)) == {str}
    texts = values if plain else list(map(_text, values))
    special = _SPECIAL.search(_BETWEEN.join(texts))
    return list(map(_cell, texts)) if special else texts


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return ""
    return str(value) if type(value) is int else orjson.dumps(value).decode()


def _cell(text: str) -> str:
    safe = f"'{text}" if text.startswith(_FORMULA) else text
    if _QUOTED.search(safe) is None:
        return safe
    doubled = safe.replace('"', '""')
    return f'"{doubled}"'
