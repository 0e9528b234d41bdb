"""Exports of the two big streams: the stored texts as lines, or CSV."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec
import orjson
from django.db.models import QuerySet

from events.instants import parse_instant
from events.keyset import beyond
from events.streams import pages
from events.streams.catalogue import Stream
from meshmgmt.api.csvlines import csv_lines

Place = tuple[datetime, str]
"""Time and id of an event: where it stands in its stream."""

_CHUNK: Final = 1000

_END: Final = (
    *("id", "type", "name", "address", "dns_label", "os", "geo_location_city_name"),
    "geo_location_country_code",
)

CSV_FIELDS: Final = {
    "traffic": (
        "id",
        "flow_id",
        "reporter_id",
        "receive_timestamp",
        "window_start",
        "window_end",
        *(f"source_{name}" for name in _END),
        *(f"destination_{name}" for name in _END),
        "user_id",
        "user_email",
        "user_name",
        "policy_id",
        "policy_name",
        "protocol",
        "icmp_type",
        "icmp_code",
        "direction",
        "connection_type",
        "rx_bytes",
        "rx_packets",
        "tx_bytes",
        "tx_packets",
        "num_of_starts",
        "num_of_ends",
        "num_of_drops",
        "events",
    ),
    "proxy": (
        *("id", "service_id", "timestamp", "method", "host", "path", "status_code"),
        *("duration_ms", "bytes_upload", "bytes_download", "source_ip", "country_code"),
        *("city_name", "subdivision_code", "user_id", "auth_method_used", "reason"),
        *("protocol", "metadata"),
    ),
}
"""The columns of each stream's CSV, which keep their order; new ones come last."""

_OBJECTS: Final = {
    "traffic": ("source", "destination", "geo_location", "user", "policy", "icmp"),
    "proxy": (),
}
"""Fields whose own fields are columns."""


def ndjson_pieces(texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    """Yield stored texts, newest first, a line each."""
    for chunk in texts:
        if chunk:
            yield b"\n".join((*chunk, b""))


def csv_pieces(stream: Stream, texts: Iterable[list[bytes]]) -> Iterator[bytes]:
    fields = CSV_FIELDS[stream.name]
    paths = [_path(field, _OBJECTS[stream.name]) for field in fields]
    # A type of its own reads an event in half the time that dictionaries take.
    read = msgspec.json.Decoder(_shape(paths)).decode
    cells = attrgetter(*map(".".join, paths))
    rows = (cells(read(text)) for chunk in texts for text in chunk)
    return csv_lines(fields, rows)


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


def _path(field: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Return the objects that a column lies in, and its name in the innermost."""
    for name in objects:
        if field.startswith(f"{name}_"):
            return name, *_path(field.removeprefix(f"{name}_"), objects)
    return (field,)


def _shape(paths: Iterable[tuple[str, ...]]) -> type[msgspec.Struct]:
    """Return what events look like that hold these columns; None where one has none."""
    fields: list[Any] = []
    for name, run in groupby(sorted(paths), key=itemgetter(0)):
        inner = [path[1:] for path in run if path[1:]]
        fields.append((name, _shape(inner)) if inner else (name, Any, None))
    return msgspec.defstruct("Shape", fields, kw_only=True, gc=False)
