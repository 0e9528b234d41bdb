"""A reverse proxy access log entry: checked at arrival, rendered once, stored."""

from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from events.streams import checks
from events.streams.checks import ID_LIMIT, Event
from events.streams.faults import BAD_TYPE, EventFault
from events.streams.instants import render_instant
from events.streams.search import search_text

MAX_STATUS: Final = 999
MAX_DURATION_MS: Final = 2**31 - 1
METHOD_LIMIT: Final = 32
PATH_LIMIT: Final = 8192
MAX_METADATA: Final = 64
METADATA_LIMIT: Final = 1024
METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", ""}
)
OTHER_METHOD: Final = "other"
PROTOCOLS: Final = ("http", "tcp", "udp")

TELLING: Final = ("service_id", "host", "path", "source_ip")
"""Of these an entry has at least one, or it tells nothing."""

# Fields that are left out when unknown (reference, Entry fields).
OPTIONAL: Final = (
    "source_ip",
    "reason",
    "user_id",
    "auth_method_used",
    "country_code",
    "city_name",
    "subdivision_code",
    "protocol",
    "metadata",
)


class ProxyRow(NamedTuple):
    """One row as it is stored; `body` is the JSON text clients get."""

    timestamp: datetime
    id: str
    service_id: str
    host: str
    path: str
    method: str
    status_code: int
    duration_ms: int
    source_ip: str
    user_id: str
    auth_method_used: str
    reason: str
    bytes_upload: int
    bytes_download: int
    country_code: str
    search: str
    body: str


class CheckedEntry(NamedTuple):
    """An entry that passed the checks; `content` has every field, empty ones too.

    `timed` is False when the reporter gave no time.
    """

    time: datetime
    content: Event
    timed: bool


def check(event: Any, received: datetime) -> CheckedEntry:
    """Return the entry in the contract's shape. Raises EventFault."""
    if type(event) is not dict:
        raise EventFault("", "must be an object", BAD_TYPE)
    sent = checks.instant(event, "timestamp")
    time = sent or received
    content = {
        "id": checks.text(event, "id", ID_LIMIT),
        "service_id": checks.text(event, "service_id", ID_LIMIT),
        "timestamp": render_instant(time),
        "method": checks.text(event, "method", METHOD_LIMIT),
        "host": checks.text(event, "host"),
        "path": checks.text(event, "path", PATH_LIMIT),
        "duration_ms": checks.whole(event, "duration_ms", MAX_DURATION_MS),
        "status_code": checks.whole(event, "status_code", MAX_STATUS),
        "bytes_upload": checks.whole(event, "bytes_upload"),
        "bytes_download": checks.whole(event, "bytes_download"),
        "source_ip": _source_ip(event),
        "reason": checks.text(event, "reason"),
        "user_id": checks.text(event, "user_id", ID_LIMIT),
        "auth_method_used": checks.text(event, "auth_method_used"),
        "country_code": checks.text(event, "country_code"),
        "city_name": checks.text(event, "city_name"),
        "subdivision_code": checks.text(event, "subdivision_code"),
        "protocol": _protocol(event),
        "metadata": _metadata(event),
    }
    if not any(content[name] for name in TELLING):
        raise EventFault("", f"needs at least one of {', '.join(TELLING)}")
    return CheckedEntry(time=time, content=content, timed=sent is not None)


def _source_ip(event: Event) -> str:
    value = checks.text(event, "source_ip", 64)
    if not value:
        return ""
    try:
        return checks.canonical_address(value)
    except ValueError as error:
        raise EventFault("source_ip", "is not an IP address") from error


def _protocol(event: Event) -> str:
    value = checks.text(event, "protocol", 16).lower()
    if value and value not in PROTOCOLS:
        raise EventFault("protocol", f"is none of {', '.join(PROTOCOLS)}")
    return value


def _metadata(event: Event) -> dict[str, str]:
    metadata = checks.thing(event, "metadata")
    if len(metadata) > MAX_METADATA:
        raise EventFault("metadata", f"has more than {MAX_METADATA} entries")
    for key in metadata:
        if len(key) > checks.NAME_LIMIT or "\0" in key:
            raise EventFault("metadata", "has a key that is too long or holds NUL")
        if metadata[key] is None:
            raise EventFault(f"metadata.{key}", "must be a text", BAD_TYPE)
        checks.text(metadata, key, METADATA_LIMIT, "metadata.")
    return metadata


def rendered(content: Event) -> Event:
    """Return the entry as clients see it: unknown optional fields left out."""
    return {
        name: value for name, value in content.items() if value or name not in OPTIONAL
    }


def row(event: CheckedEntry) -> ProxyRow:
    """Return the row to store for an entry that is checked and enriched."""
    content = event.content
    return ProxyRow(
        timestamp=event.time,
        id=content["id"],
        service_id=content["service_id"],
        host=content["host"],
        path=content["path"],
        method=content["method"],
        status_code=content["status_code"],
        duration_ms=content["duration_ms"],
        source_ip=content["source_ip"],
        user_id=content["user_id"],
        auth_method_used=content["auth_method_used"],
        reason=content["reason"],
        bytes_upload=content["bytes_upload"],
        bytes_download=content["bytes_download"],
        country_code=content["country_code"],
        search=search_text(
            (content["id"], content["source_ip"], content["host"] + content["path"])
        ),
        body=orjson.dumps(rendered(content)).decode(),
    )


def tally_key(stored: ProxyRow) -> tuple[str, int]:
    """Return the values of the columns that `ProxyTally` counts by.

    Clients may send any word as a method: unknown ones share a key, so that nobody can
    fill the table with invented methods.
    """
    method = stored.method if stored.method in METHODS else OTHER_METHOD
    return method, stored.status_code
