"""Exports of the two big streams: the stored texts as lines, or CSV."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec
import orjson
from django.db.models import QuerySet
from msgspec import Struct
from msgspec.inspect import is_struct_type
from msgspec.structs import fields

from events.instants import parse_instant
from events.keyset import beyond
from events.streams import pages
from events.streams.catalogue import Stream
from meshmgmt.api.csvlines import csv_lines

Place = tuple[datetime, str]
"""Time and id of an event: where it stands in its stream."""

_CHUNK: Final = 1000


def ndjson_pieces(texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    """Yield stored texts, newest first, a line each."""
    for chunk in texts:
        if chunk:
            yield b"\n".join((*chunk, b""))


def csv_pieces(stream: Stream, texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    paths = list(columns(stream.kind))
    # A type of its own reads an event in half the time that dictionaries take.
    read = msgspec.json.Decoder(_shape(stream.kind)).decode
    cells = attrgetter(*map(".".join, paths))
    rows = (cells(read(text)) for chunk in texts for text in chunk)
    return csv_lines(list(map("_".join, paths)), rows)


def every_text(
    stream: Stream, matching: QuerySet[Any], after: Place | None = None
) -> Iterator[list[bytes]]:
    """Yield the texts of matching events, newest first, in lists of bounded size.

    They begin with the newest, or behind the place `after`. Each list is read by a query
    of its own, so that a slow reader holds no cursor open; its last text tells the next's
    place.
    """
    time = stream.time_field
    ordered = matching.order_by(f"-{time}", "-id").values_list("body")
    wanted = ordered.filter(beyond(time, *after)) if after else ordered
    while found := list(pages.texts(wanted[:_CHUNK])):
        yield found
        # The queries give texts alone, which COPY hands out as they are.
        last = orjson.loads(found[-1])
        moment = parse_instant(last[stream.sent_time])
        wanted = ordered.filter(beyond(time, moment, last["id"]))


def columns(kind: type[Struct]) -> Iterator[tuple[str, ...]]:
    """Yield the objects that a column lies in and its own name, column by column."""
    for field in fields(kind):
        inner = columns(field.type) if is_struct_type(field.type) else [()]
        yield from ((field.name, *path) for path in inner)


def _shape(kind: type[Struct]) -> type[Struct]:
    """Return what stored events look like; None where one has no value."""
    found: list[Any] = [
        (field.name, _shape(field.type))
        if is_struct_type(field.type)
        else (field.name, Any, None)
        for field in fields(kind)
    ]
    return msgspec.defstruct("Shape", found, kw_only=True, gc=False)
