"""Answers that are files: one JSON object per line, CSV, or one JSON array."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import orjson
from django.http import StreamingHttpResponse
from rest_framework.renderers import BaseRenderer

from meshmgmt.api.csvlines import csv_lines

Row = Mapping[str, Any]

_LINES_AT_ONCE: Final = 100


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
