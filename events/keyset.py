"""Lists ordered by time and key: their pages, found by a place, and cursors that name one.

Pages are never counted: what comes in meanwhile moves none, and a deep one costs what the
first does.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from django.db.models import Q, QuerySet

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"(before|newer)\.(\d{1,17})\.([^\0]{1,200})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row with this time and key stands; older ones lie beyond, or `newer`."""

    time: datetime
    key: Any
    newer: bool = False

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return the place that a cursor names; its key is a text.

        Raises ValueError or OverflowError.
        """
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("is not a cursor of this service")
        moment = _EPOCH + timedelta(microseconds=int(match[2]))
        return cls(moment, match[3], newer=match[1] == "newer")

    def __str__(self) -> str:
        """Return the cursor, such as `before.<microseconds>.<key>`."""
        micros = (self.time - _EPOCH) // timedelta(microseconds=1)
        return f"{'newer' if self.newer else 'before'}.{micros}.{self.key}"

    def beyond(self, column: str) -> Q:
        """Return what lies beyond, with a bound of the times that an index serves."""
        side = "gt" if self.newer else "lt"
        same = Q(**{column: self.time, f"pk__{side}": self.key})
        further = Q(**{f"{column}__{side}": self.time})
        return Q(**{f"{column}__{side}e": self.time}) & (further | same)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, newest first, and the places that lead to older and newer ones, if any."""

    rows: Sequence[Any]
    older: Place | None = None
    newer: Place | None = None


def read(
    rows: QuerySet[Any, Any],
    column: str,
    size: int,
    place: Place | None,
    *,
    at: Callable[[Any], tuple[datetime, Any]],
    offset: int = 0,
) -> Page:
    """Return a page of the rows beyond a place, None: of all. `at` tells time and key."""
    upwards = place is not None and place.newer
    if place is not None:
        rows = rows.filter(place.beyond(column))
    order = (column, "pk") if upwards else (f"-{column}", "-pk")
    # One more than shown tells whether there are others, without counting.
    found = list(rows.order_by(*order)[offset : offset + size + 1])
    more, found = len(found) > size, found[:size]
    if upwards:
        found.reverse()
    # What one came from is there; whoever came from no place is at the newest.
    newer = more if upwards else place is not None
    return Page(
        found,
        older=Place(*at(found[-1])) if found and (more or upwards) else None,
        newer=Place(*at(found[0]), newer=True) if found and newer else None,
    )
