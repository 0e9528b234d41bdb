"""Reading the audit trail: its pages and their cursors, and single events.

`before.<microseconds>.<id>` goes on towards older events, `newer.<microseconds>.<id>` the
other way. `after.<id>` gives what was committed since: ids grow in commit order, so a
reader that follows it misses nothing.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import F, Max, Min, QuerySet

from events.activities import Activity
from events.keyset import Page, Place, read
from events.models import AuditEvent
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound

NEWEST: Final = 10_000
EXACT_TOTAL: Final = 1_000_000
_CHUNK: Final = 2000
_LONGEST: Final = dt.timedelta(hours=1)
"""No request writes for longer; requests have no index of their own."""
_CLOCKS: Final = dt.timedelta(days=1)
_LEAVING: Final = (Activity.PEER_IP_UPDATE, Activity.USER_PEER_DELETE)
"""By which a peer gives up its address."""
_EVENT_ID: Final = re.compile(r"[1-9][0-9]{0,17}")
_ID: Final = re.compile(r"\d{1,18}", re.ASCII)
_AFTER: Final = "after."

Trail = QuerySet[AuditEvent, Any]


@dataclass(frozen=True, slots=True)
class After:
    """Everything committed later than the event with this id."""

    id: int

    def __str__(self) -> str:
        return f"{_AFTER}{self.id}"


Cursor = Place | After


def parse_cursor(text: str) -> Cursor:
    """Return the cursor that `text` stands for. Raises ValueError, OverflowError."""
    committed = text.removeprefix(_AFTER)
    if committed != text and _ID.fullmatch(committed):
        return After(int(committed))
    place = Place.parsed(text)
    if not _ID.fullmatch(place.key):
        raise ValueError("is not a cursor of this service")
    return replace(place, key=int(place.key))


@dataclass(frozen=True, slots=True)
class TrailPage:
    """Tuples of the wanted columns, newest first, and the ways on from here.

    `older` and `newer` are None where nothing more lies that way; `since` gives what is
    committed from now on.
    """

    found: Sequence[tuple[Any, ...]]
    total: int
    exact: bool
    older: Place | None
    newer: Place | None
    since: After


def newest_first(events: Trail) -> Trail:
    return events.order_by("-timestamp", "-id")


def read_page(
    matching: Trail,
    columns: tuple[str, ...],
    *,
    cursor: Cursor | None,
    offset: int,
    size: int,
) -> TrailPage:
    """Return one page of `matching`; to be called inside one snapshot.

    `columns` begin with id and timestamp.
    """
    rows = matching.values_list(*columns)
    if isinstance(cursor, After):
        found = list(rows.filter(id__gt=cursor.id).order_by("id")[:size])
        # A full page may have left out older commits than the newest of all.
        full = len(found) == size
        since = max(row[0] for row in found) if full else max(last_id(), cursor.id)
        # It follows commits, not times, and leads nowhere else.
        page = Page(sorted(found, key=_at, reverse=True))
    else:
        page = read(rows, "timestamp", size, cursor, at=_at, offset=offset)
        since = last_id()
    # A count of all would read a trail of ten millions whole for a number nobody reads.
    counted = matching.order_by().values("id")[: EXACT_TOTAL + 1].count()
    return TrailPage(
        found=page.rows,
        total=min(counted, EXACT_TOTAL),
        exact=counted <= EXACT_TOTAL,
        older=page.older,
        newer=page.newer,
        since=After(since),
    )


def _at(row: tuple[Any, ...]) -> tuple[dt.datetime, int]:
    number, timestamp, *_ = row
    return timestamp, number


def event_by_id(text: str) -> AuditEvent:
    """Return the event of an id, as a path has it. Raises NotFound."""
    number = int(text) if _EVENT_ID.fullmatch(text) else 0
    event = AuditEvent.objects.filter(id=number).first()
    if event is None:
        raise NotFound.of("audit event", text)
    return event


def span_of_request(event: AuditEvent) -> tuple[int, int]:
    """Return the first and the last id of the events of a request."""
    found = events_of_request(event).aggregate(first=Min("id"), last=Max("id"))
    return found["first"], found["last"]


def events_of_request(event: AuditEvent) -> Trail:
    """Return all events of the request that one belongs to, newest first."""
    found = AuditEvent.objects.order_by("-id")
    if not event.request_id:
        return found.filter(id=event.pk)
    about_then = (event.timestamp - _LONGEST, event.timestamp + _LONGEST)
    # Of one address: another client may have chosen the same id that a proxy passed on.
    return found.filter(
        request_id=event.request_id,
        source_address=event.source_address,
        timestamp__range=about_then,
    )


def left_since(event: AuditEvent, address: str) -> str:
    """Return the peer that had an address at an event, "" if it has not given it up."""
    # Another may have it by now: who had it is who left it first since.
    leaving = AuditEvent.objects.filter(
        id__gt=event.pk, activity_code__in=_LEAVING, changes__ip__before=address
    )
    return leaving.order_by("id").values_list("target_id", flat=True).first() or ""


def newest_of_request(request_id: str) -> AuditEvent | None:
    """Return the last event of a request of the last hour, None without one."""
    lately = AuditEvent.objects.filter(timestamp__gte=clock.now() - _LONGEST)
    return lately.filter(request_id=request_id).order_by("-id").first()


def last_id_at(moment: dt.datetime) -> int | None:
    """Return the id of the event committed last of those up to a moment; None before all.

    Ids grow in the order of commits, times only as the clocks of the hosts allow: by as
    much as a day apart they do no harm.
    """
    told = AuditEvent.objects.filter(timestamp__lte=moment)
    newest = newest_first(told).values_list("timestamp", flat=True).first()
    if newest is None:
        return None
    recent = told.filter(timestamp__gt=newest - _CLOCKS)
    # PostgreSQL would look for a plain maximum from the newest id down to the moment.
    last: int = recent.aggregate(last=Max(F("id") + 0))["last"]
    return last


def last_id() -> int:
    """Return the id of the event committed last, 0 when there is none."""
    return AuditEvent.objects.aggregate(last=Max("id"))["last"] or 0


def every_row(
    matching: Trail,
    columns: tuple[str, ...],
    *,
    last: int | None = None,
    oldest: bool = False,
) -> Iterator[tuple[Any, ...]]:
    """Yield all matching events in queries of bounded size: newest first, or `oldest`.

    Events with an id above `last` (default: what is committed meanwhile) are left out.
    """
    # Else a reader slower than the writers would never come to an end.
    known = matching.filter(id__lte=last_id() if last is None else last)
    ordered = known.order_by("timestamp", "id") if oldest else newest_first(known)
    rows = ordered.values_list(*columns)
    chunk = list(rows[:_CHUNK])
    while chunk:
        yield from chunk
        last_read = Place(chunk[-1][1], chunk[-1][0], newer=oldest)
        chunk = list(rows.filter(last_read.beyond("timestamp"))[:_CHUNK])
