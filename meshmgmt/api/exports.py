"""Answers that are files: one JSON object per line, CSV, or one JSON array."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from django.http import StreamingHttpResponse
from rest_framework.renderers import BaseRenderer


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
