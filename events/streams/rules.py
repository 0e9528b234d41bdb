"""What holds of single values of an event beyond their type and bounds."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import lru_cache
from typing import Final

from events.instants import parse_instant
from events.streams.faults import EventFault
from events.vocabulary import FUTURE, LONGEST_PAST

# A flow's window and its events repeat the same few texts.
_parse: Final[Callable[[str], datetime]] = lru_cache(4096)(parse_instant)


def instant(value: str, field: str) -> datetime | None:
    """Return a point in time, None when empty. Raises EventFault."""
    if not value:
        return None
    try:
        return _parse(value)
    except ValueError as error:
        raise EventFault(field, str(error)) from error


def require_plausible(moment: datetime, received: datetime, field: str) -> None:
    """Raise EventFault for a time too far from the arrival to be true."""
    if moment > received + FUTURE:
        raise EventFault(field, "is too far in the future")
    if moment < received - LONGEST_PAST:
        raise EventFault(field, "is too far in the past")


def choice(value: str, allowed: Collection[str], field: str) -> str:
    """Return one of the allowed texts, sent in any letter case; the first if empty.

    Raises EventFault.
    """
    if value in allowed:
        return value
    if not value:
        return next(iter(allowed))
    if (upper := value.upper()) in allowed:
        return upper
    raise EventFault(field, f"is none of {', '.join(allowed)}")
