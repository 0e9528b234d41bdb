"""Pages of the audit trail."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Max, QuerySet

from events.models import AuditEvent
from events.trail.cursors import After, Before, Cursor

NEWEST: Final = 10_000
EXACT_TOTAL: Final = 1_000_000
_CHUNK: Final = 2000

Trail = QuerySet[AuditEvent, Any]


@dataclass(frozen=True, slots=True)
class TrailPage:
    """Tuples of the wanted columns, newest first, and the ways on from here."""

    found: list[tuple[Any, ...]]
    total: int
    exact: bool
    older: Before | None
    newer: After


def newest_first(events: Trail) -> Trail:
    """Return the events newest first, ties by id."""
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
    if isinstance(cursor, After):
        rows = matching.filter(cursor.condition).order_by("id")
        found = sorted(
            rows.values_list(*columns)[:size], key=lambda row: row[1::-1], reverse=True
        )
        more = False
    else:
        if cursor is not None:
            matching_here = matching.filter(cursor.condition)
        else:
            matching_here = matching
        rows = newest_first(matching_here)
        found = list(rows.values_list(*columns)[offset : offset + size + 1])
        more = len(found) > size
        found = found[:size]
    counted = matching.order_by().values("id")[: EXACT_TOTAL + 1].count()
    return TrailPage(
        found=found,
        total=min(counted, EXACT_TOTAL),
        exact=counted <= EXACT_TOTAL,
        older=Before(found[-1][1], found[-1][0]) if more else None,
        newer=_newer(cursor, found, size),
    )


def _newer(cursor: Cursor | None, found: list[tuple[Any, ...]], size: int) -> After:
    """Return the cursor that gives what is not read yet, or will be committed."""
    if isinstance(cursor, After) and len(found) == size:
        return After(max(row[0] for row in found))
    newest: int = AuditEvent.objects.aggregate(last=Max("id"))["last"] or 0
    if isinstance(cursor, After):
        return After(max(newest, cursor.id))
    return After(newest)


def every_row(matching: Trail, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield all matching events, newest first, in queries of bounded size.

    Events that are committed meanwhile are left out.
    """
    last: int = AuditEvent.objects.aggregate(last=Max("id"))["last"] or 0
    rows = newest_first(matching.filter(id__lte=last)).values_list(*columns)
    chunk = list(rows[:_CHUNK])
    while chunk:
        yield from chunk
        position = Before(chunk[-1][1], chunk[-1][0])
        chunk = list(rows.filter(position.condition)[:_CHUNK])
