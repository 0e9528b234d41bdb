"""Exports of the two big streams: the stored texts as lines, or CSV."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson
from django.db.models import Q, QuerySet

from events.csvlines import csv_lines
from events.streams.catalogue import Stream

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

_OBJECTS: Final = frozenset(
    {"source", "destination", "geo_location", "user", "policy", "icmp"}
)


def ndjson_pieces(texts: Iterable[list[str]]) -> Iterator[bytes]:
    """Yield stored texts, newest first, a line each."""
    for chunk in texts:
        yield "".join(f"{text}\n" for text in chunk).encode()


def csv_pieces(stream: Stream, texts: Iterable[list[str]]) -> Iterator[bytes]:
    rows = (_flat(orjson.loads(text)) for chunk in texts for text in chunk)
    return csv_lines(CSV_FIELDS[stream.name], rows)


def every_text(stream: Stream, matching: QuerySet[Any]) -> Iterator[list[str]]:
    """Yield the texts of all matching events, newest first, in lists of bounded size.

    Each is read by a query of its own, so that a slow reader holds no cursor open.
    """
    time = stream.time_field
    ordered = matching.order_by(f"-{time}", "-id").values_list(time, "id", "body")
    found = list(ordered[:_CHUNK])
    while found:
        yield [text for _, _, text in found]
        moment, identifier, _ = found[-1]
        older = Q(**{f"{time}__lt": moment}) | Q(**{time: moment, "id__lt": identifier})
        found = list(ordered.filter(older, **{f"{time}__lte": moment})[:_CHUNK])


def _flat(content: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return an event with the fields of its objects beside its own."""
    row: dict[str, Any] = {}
    for name, value in content.items():
        if name in _OBJECTS:
            row |= _flat(value, f"{prefix}{name}_")
        else:
            row[prefix + name] = value
    return row
