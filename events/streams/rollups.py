"""Keeps the sums by hour and day of each stream; they equal those of its events.

Housekeeping adds what came in since, in the order of arrival numbers, which is that of
commits: events up to the mark are in the sums, later ones are not, whatever their time.
Sums and mark move in one transaction. Whoever asks adds the events beyond the mark.

A day with a gap is asked event by event, until it is summed up anew.
"""

import time
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any, Final

from django.db import connection
from django.db.models import Case, F, Q, QuerySet, When

from events.models import RollUpGap, RollUpMark
from events.pruning import BREATH_SECONDS
from events.streams import citus
from events.streams.catalogue import Stream
from events.streams.hours import WIDTHS, Bucket, day_span
from events.streams.subjects import NARROWED, ROLL_UPS, RollUps
from events.streams.totals import HIGHEST, total_sql
from meshmgmt.core.transactions import queued_write

EVERY_SECONDS: Final = 60.0
WORK_SECONDS: Final = 5.0
"""How long a run goes on beginning pieces: the next jobs wait behind it."""

LEAST: Final = 5000
"""Fewer events than that are left to the next run: sums of many cost less for each."""

MOST: Final = 100_000
_MOST_ON_SQLITE: Final = 10_000
"""Events summed up at once: there nobody else can write meanwhile."""

_BEGINNING: Final = -(2**63)


def roll_up(*, least: int = LEAST) -> None:
    """Sum up what came in, and the days with gaps, for a while; safe to repeat."""
    until = time.monotonic() + WORK_SECONDS
    for found in ROLL_UPS.values():
        for step in (partial(_take, found, least), partial(_fill, found)):
            while time.monotonic() < until and step():
                time.sleep(BREATH_SECONDS)


def mark(stream: Stream) -> int:
    """Return the arrival number up to which events are in the sums."""
    marks = RollUpMark.objects.filter(stream=stream.name)
    return marks.values_list("arrival", flat=True).first() or _BEGINNING


def behind(stream: Stream) -> bool:
    """Tell whether there are events beyond the mark."""
    later = stream.model._default_manager.filter(arrival__gt=mark(stream))
    return later.order_by().exists()


def gaps(stream: Stream) -> list[date]:
    days = RollUpGap.objects.filter(stream=stream.name).order_by("day")
    return list(days.values_list("day", flat=True))


def leave_gap(stream: Stream, days: set[date]) -> None:
    """Note that the sums of `days` are not right, in the running transaction."""
    RollUpGap.objects.bulk_create(
        [RollUpGap(stream=stream.name, day=day) for day in sorted(days)],
        ignore_conflicts=True,
    )


def forget(stream: Stream, day: date) -> None:
    """Delete the sums of a day whose events go, in the running transaction."""
    RollUpGap.objects.filter(stream=stream.name, day=day).delete()
    _sums_of(ROLL_UPS[stream.name], day).delete()


def _sums_of(kept: RollUps, day: date) -> QuerySet[Any]:
    span = day_span(day)
    families = list(_families(kept))
    return kept.model._default_manager.filter(
        family__in=families, width__in=WIDTHS, start__gte=span.start, start__lt=span.end
    )


def _families(kept: RollUps) -> Iterator[int]:
    for number in kept.families.values():
        yield number
        yield number + NARROWED


def _lock(stream: Stream) -> RollUpMark:
    """Return the mark, which nobody else moves until the transaction ends."""
    marks = RollUpMark.objects.select_for_update()
    found, made = marks.get_or_create(
        stream=stream.name, defaults={"arrival": _BEGINNING}
    )
    if made:
        leave_gap(stream, set(_days_from_before(stream)))
    return found


def _days_from_before(stream: Stream) -> Iterator[date]:
    """Yield the days with events from before arrivals were counted."""
    tallied = stream.tally_model._default_manager.values_list("day", flat=True)
    for day in tallied.distinct():
        if _events_of(stream, day).filter(arrival__isnull=True).exists():
            yield day


def _events_of(stream: Stream, day: date) -> QuerySet[Any]:
    span = day_span(day)
    time = stream.time_field
    return stream.model._default_manager.order_by().filter(
        **{f"{time}__gte": span.first, f"{time}__lte": span.last}
    )


def _take(kept: RollUps, least: int) -> bool:
    """Add the next events to the sums, unless they are few; tell whether more wait."""
    most = MOST if connection.vendor == "postgresql" else _MOST_ON_SQLITE
    there = kept.stream.model._default_manager.filter(citus.settled(kept.stream))
    with queued_write():
        found = _lock(kept.stream)
        later = there.filter(arrival__gt=found.arrival)
        ordered = later.order_by("arrival").values_list("arrival", flat=True)
        numbers = list(ordered[:most])
        if len(numbers) < max(least, 1):
            return False
        found.arrival = numbers[-1]
        _add(kept, later.filter(arrival__lte=found.arrival))
        found.save(update_fields=["arrival"])
    return len(numbers) == most


def _fill(kept: RollUps) -> bool:
    """Sum the newest day with a gap up anew; tell whether there are others."""
    stream = kept.stream
    with queued_write():
        found = _lock(stream)
        days = gaps(stream)
        if not days:
            return False
        forget(stream, days[-1])
        counted = Q(arrival__lte=found.arrival) | Q(arrival__isnull=True)
        _add(kept, _events_of(stream, days[-1]).filter(counted))
    return len(days) > 1


def _add(kept: RollUps, events: QuerySet[Any]) -> None:
    """Add events to the sums of all families; the events are read once."""
    sql, params = _read(kept, events).query.sql_with_params()
    columns = ["family", "width", "start", "key", "events", "first", "last", *kept.sums]
    added = ", ".join(_added(kept.model._meta.db_table, name) for name in columns[4:])
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {kept.model._meta.db_table} ({', '.join(columns)})"  # noqa: S608 - names from the models
            f" WITH read AS ({sql}), cells AS ({' UNION ALL '.join(_cells(kept))})"
            " SELECT * FROM cells WHERE true ORDER BY 1, 2, 3, 4"
            f" ON CONFLICT (family, width, start, key) DO UPDATE SET {added}",
            params,
        )


def _read(kept: RollUps, events: QuerySet[Any]) -> QuerySet[Any]:
    """Return keys, hours, days and counters of events, under names of their own."""
    time = kept.stream.time_field
    named = {
        "at": F(time),
        "narrowed": Case(When(kept.narrow, then=1), default=0),
        **{f"start_{width}": Bucket(time, width) for width in WIDTHS},
        **{f"by_{name}": kept.groups[name] for name in kept.families},
        **{f"sum_{name}": each for name, each in kept.sums.items()},
    }
    rows: QuerySet[Any] = events.order_by().annotate(**named).values(*named)
    return rows


def _cells(kept: RollUps) -> Iterator[str]:
    """Yield what makes the sums of each family, by hour and by day."""
    sums = ", ".join(
        total_sql(connection.vendor, [f"sum_{name}"]) for name in kept.sums
    )
    for name, family in kept.families.items():
        for number, which in ((family, ""), (family + NARROWED, "WHERE narrowed = 1")):
            for width in WIDTHS:
                yield (
                    f"SELECT {number}, {width}, start_{width}, CAST(by_{name} AS text),"  # noqa: S608 - names of ours
                    f" COUNT(*), MIN(at), MAX(at), {sums} FROM read {which}"
                    f" GROUP BY start_{width}, by_{name}"
                )


def _added(table: str, column: str) -> str:
    """Return how a sum that is there takes a new one in; none goes beyond the highest."""
    old, new = f"{table}.{column}", f"excluded.{column}"
    if column in ("first", "last"):
        sign = "<" if column == "first" else ">"
        return f"{column} = CASE WHEN {new} {sign} {old} THEN {new} ELSE {old} END"
    full = f"{old} > {HIGHEST} - {new}"
    return f"{column} = CASE WHEN {full} THEN {HIGHEST} ELSE {old} + {new} END"
