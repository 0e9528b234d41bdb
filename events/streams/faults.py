"""What a reporter can get wrong in an event, and what holds of its single values."""

from collections.abc import Callable, Collection
from datetime import datetime
from functools import lru_cache
from typing import Final

from events.instants import parse_instant
from events.vocabulary import FUTURE, LONGEST_PAST
from meshmgmt.core.errors import FieldError, ServiceError

BAD_TYPE = 400
BROKEN_RULE = 422
# A flow's window and its events repeat the same few texts.
_parse: Final[Callable[[str], datetime]] = lru_cache(4096)(parse_instant)


class EventFault(ValueError):
    """The first fault of one event; `field` is a path inside it such as `source.id`.

    `status` is 400 for a wrong JSON type and 422 for a broken rule.
    """

    def __init__(self, field: str, message: str, status: int = BROKEN_RULE) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.status = status


class IdTaken(EventFault):
    """An id that is stored already with another time."""

    def __init__(self, identifier: str) -> None:
        super().__init__("id", "is stored already with another time")
        self.identifier = identifier


class BatchRefused(ServiceError):
    """A batch of which nothing is stored; names the index and field of the fault."""

    def __init__(self, index: int, fault: EventFault) -> None:
        place = f"[{index}].{fault.field}" if fault.field else f"[{index}]"
        message = fault.message
        super().__init__(f"{place}: {message}", [FieldError(place, message)])
        self.index = index
        self.status = fault.status


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
