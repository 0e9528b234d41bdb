"""A reverse proxy access log entry: checked at arrival, rendered once, stored."""

from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from events.instants import render_instant
from events.search import search_text
from events.streams.faults import BAD_TYPE, EventFault, instant
from events.vocabulary import (
    ID_LIMIT,
    MAX_COUNTER,
    MAX_DURATION_MS,
    MAX_METADATA,
    MAX_STATUS,
    METADATA_LIMIT,
    METHOD_LIMIT,
    METHODS,
    NAME_LIMIT,
    PATH_LIMIT,
    PROTOCOLS,
)
from meshmgmt.core.addresses import canonical_address

OTHER_METHOD: Final = "other"

Id = Annotated[str, Meta(max_length=ID_LIMIT)]
Name = Annotated[str, Meta(max_length=NAME_LIMIT)]
Counter = Annotated[int, Meta(ge=0, le=MAX_COUNTER)]

TELLING: Final = ("service_id", "host", "path", "source_ip")
"""Of these an entry has at least one, or it tells nothing."""

# Fields that are left out when unknown (reference, Entry fields).
OPTIONAL: Final = frozenset(
    {
        *("source_ip", "reason", "user_id", "auth_method_used", "country_code"),
        *("city_name", "subdivision_code", "protocol", "metadata"),
    }
)


class Entry(Struct, gc=False):
    """An entry as proxies send it; it tells of a service, host, path or address.

    Columns of an export keep this order, so new ones come last.
    """

    id: Id = ""
    service_id: Id = ""
    timestamp: Annotated[str, Meta(description="RFC 3339")] = ""
    method: Annotated[str, Meta(max_length=METHOD_LIMIT)] = ""
    host: Name = ""
    path: Annotated[str, Meta(max_length=PATH_LIMIT)] = ""
    status_code: Annotated[
        int, Meta(ge=0, le=MAX_STATUS, description="0 for TCP and UDP")
    ] = 0
    duration_ms: Annotated[int, Meta(ge=0, le=MAX_DURATION_MS)] = 0
    bytes_upload: Counter = 0
    bytes_download: Counter = 0
    source_ip: Name = ""
    country_code: Name = ""
    city_name: Name = ""
    subdivision_code: Name = ""
    user_id: Id = ""
    auth_method_used: Name = ""
    reason: Name = ""
    protocol: str = ""
    # Checked by hand: msgspec does not say which of its values is wrong.
    metadata: Annotated[dict[str, Any], Meta(max_length=MAX_METADATA)] = {}


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


_as_sent: Final = attrgetter(*ProxyRow._fields[1:-2])
"""What of an entry is stored as it stands there: all but time, search and body."""


class CheckedEntry(NamedTuple):
    """An entry that passed the checks; `timed` is False when the reporter gave no time."""

    time: datetime
    content: Entry
    timed: bool


def check(entry: Entry, received: datetime) -> CheckedEntry:
    """Bring the entry into the contract's shape, in place. Raises EventFault."""
    sent = instant(entry.timestamp, "timestamp")
    time = sent or received
    entry.timestamp = render_instant(time)
    if entry.source_ip:
        try:
            entry.source_ip = canonical_address(entry.source_ip)
        except ValueError as error:
            raise EventFault("source_ip", "is not an IP address") from error
    entry.protocol = entry.protocol.lower()
    if entry.protocol and entry.protocol not in PROTOCOLS:
        raise EventFault("protocol", f"is none of {', '.join(PROTOCOLS)}")
    for key, value in entry.metadata.items():
        _check_metadata(key, value)
    if not any(getattr(entry, name) for name in TELLING):
        raise EventFault("", f"needs at least one of {', '.join(TELLING)}")
    return CheckedEntry(time, entry, timed=sent is not None)


def _check_metadata(key: str, value: Any) -> None:
    if len(key) > NAME_LIMIT:
        raise EventFault("metadata", "has a key that is too long")
    if not isinstance(value, str):
        raise EventFault(f"metadata.{key}", "must be a text", BAD_TYPE)
    if len(value) > METADATA_LIMIT:
        raise EventFault(f"metadata.{key}", f"is more than {METADATA_LIMIT} characters")


def rendered(content: Entry) -> dict[str, Any]:
    """Return the entry as clients see it: unknown optional fields left out."""
    return {
        name: value
        for name, value in msgspec.structs.asdict(content).items()
        if value or name not in OPTIONAL
    }


def row(event: CheckedEntry) -> ProxyRow:
    """Return the row to store for an entry that is checked and enriched."""
    content = event.content
    search = search_text((content.id, content.source_ip, content.host + content.path))
    body = msgspec.json.encode(rendered(content)).decode()
    return ProxyRow._make((event.time, *_as_sent(content), search, body))


def tally_key(stored: ProxyRow) -> tuple[str, int]:
    """Return the values of the columns that `ProxyTally` counts by.

    Clients may send any word as a method: unknown ones share a key, so that nobody can
    fill the table with invented methods.
    """
    method = stored.method if stored.method in METHODS else OTHER_METHOD
    return method, stored.status_code
