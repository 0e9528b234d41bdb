"""Checks of single fields of an event; each raises `EventFault` naming the field.

A batch holds up to 10,000 events of some thirty fields, so these are plain functions on
plain dictionaries: a serializer takes hundreds of microseconds per event.
"""

import ipaddress
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from events.streams.faults import BAD_TYPE, EventFault
from events.streams.instants import parse_instant

MAX_COUNTER: Final = 2**63 - 1
ID_LIMIT: Final = 128
NAME_LIMIT: Final = 255
FUTURE: Final = timedelta(days=2)
"""How far ahead of ours a reporter's clock may be."""
LONGEST_PAST: Final = timedelta(days=3650)
"""How old anything in an event may be, whatever the retention."""

Event = dict[str, Any]


def text(event: Event, name: str, limit: int = NAME_LIMIT, prefix: str = "") -> str:
    """Return a text of at most `limit` characters; absent and null are empty."""
    value = event.get(name)
    if value is None:
        return ""
    if type(value) is not str:
        raise EventFault(prefix + name, "must be a text", BAD_TYPE)
    if len(value) > limit:
        raise EventFault(prefix + name, f"is longer than {limit} characters")
    if "\0" in value:
        raise EventFault(prefix + name, "holds a NUL character")
    return value


def required_text(event: Event, name: str, limit: int = NAME_LIMIT) -> str:
    """Return a text that must be there and not empty."""
    value = text(event, name, limit)
    if not value:
        raise EventFault(name, "is required")
    return value


def whole(event: Event, name: str, high: int = MAX_COUNTER, *, prefix: str = "") -> int:
    """Return a whole number from 0 to `high`; absent and null are 0."""
    value = event.get(name)
    if value is None:
        return 0
    if type(value) is not int:
        raise EventFault(prefix + name, "must be a whole number", BAD_TYPE)
    if not 0 <= value <= high:
        raise EventFault(prefix + name, f"is not between 0 and {high}")
    return value


def choice(
    event: Event, name: str, allowed: Collection[str], default: str, prefix: str = ""
) -> str:
    """Return one of the allowed texts, in any letter case, or the default."""
    value = event.get(name)
    if value is None or value == "":
        return default
    if type(value) is not str:
        raise EventFault(prefix + name, "must be a text", BAD_TYPE)
    if value in allowed:
        return value
    upper = value.upper()
    if upper in allowed:
        return upper
    raise EventFault(prefix + name, f"is none of {', '.join(allowed)}")


def thing(event: Event, name: str) -> Event:
    """Return an object; absent and null are empty."""
    value = event.get(name)
    if value is None:
        return {}
    if type(value) is not dict:
        raise EventFault(name, "must be an object", BAD_TYPE)
    return value


def items(event: Event, name: str, limit: int) -> list[Any]:
    """Return a list of at most `limit` items; absent and null are empty."""
    value = event.get(name)
    if value is None:
        return []
    if type(value) is not list:
        raise EventFault(name, "must be a list", BAD_TYPE)
    if len(value) > limit:
        raise EventFault(name, f"has more than {limit} items")
    return value


def instant(event: Event, name: str, prefix: str = "") -> datetime | None:
    """Return a point in time, None when absent."""
    value = event.get(name)
    if value is None or value == "":
        return None
    if type(value) is not str:
        raise EventFault(prefix + name, "must be a text", BAD_TYPE)
    try:
        return _instant(value)
    except ValueError as error:
        raise EventFault(prefix + name, str(error)) from error


def require_plausible(moment: datetime, received: datetime, field: str) -> None:
    """Raise EventFault for a time too far from the arrival to be true."""
    if moment > received + FUTURE:
        raise EventFault(field, "is too far in the future")
    if moment < received - LONGEST_PAST:
        raise EventFault(field, "is too far in the past")


# A flow's window and its events repeat the same few texts.
_instant: Final[Callable[[str], datetime]] = lru_cache(4096)(parse_instant)


@lru_cache(8192)
def canonical_address(value: str) -> str:
    """Return an IP address in its usual form, IPv4-mapped ones as IPv4.

    Raises ValueError when it is none.
    """
    address = ipaddress.ip_address(value)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)


@lru_cache(8192)
def host_of(address: str) -> str:
    """Return the IP address of `1.2.3.4`, `1.2.3.4:80`, `[::1]:80`; "" if none."""
    bare = address
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        return canonical_address(bare)
    except ValueError:
        return ""
