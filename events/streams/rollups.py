"""Keeps the sums by hour, day and week of each stream; they equal those of its events.

Housekeeping adds what came in since, in the order of arrival numbers, which is that of
commits: events up to the mark are in the sums, later ones are not, whatever their time.
Sums and mark move in one transaction. Whoever asks adds the events beyond the mark.

Wider spans than hours are added up once they are over, of the next finer ones: thousands
of batches then cost them nothing. Only late events are added to them one by one.

A day with a gap is asked event by event, until it is summed up anew.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

from django.db import connection
from django.db.models import Case, F, Q, QuerySet, When

from events.models import RollUpGap, RollUpMark
from events.pruning import BREATH_SECONDS
from events.streams import citus
from events.streams.catalogue import Stream
from events.streams.hours import EPOCH, HOUR, WIDTHS, Bucket, Span, day_span
from events.streams.statements import HIGHEST, total_sql
from events.streams.subjects import NARROWED, ROLL_UPS, Summed
from meshmgmt.core import clock
from meshmgmt.core.queries import execute
from meshmgmt.core.transactions import queued_write

EVERY_SECONDS: Final = 60.0
WORK_SECONDS: Final = 5.0
"""How long a run goes on beginning pieces: the next jobs wait behind it."""

LEAST: Final = 5000
"""Fewer events than that are left to the next run: sums of many cost less for each."""

MOST: Final = 100_000
_MOST_ON_SQLITE: Final = 10_000
"""Events summed up at once: there nobody else can write meanwhile."""

LATE: Final = timedelta(hours=1)
"""How long after its end a span is added up: most late events are there by then."""

BEGINNING: Final = -(2**63)
"""The mark before anything is summed up."""
_UNION: Final = " UNION ALL "


def roll_up(
    streams: Iterable[Summed] = ROLL_UPS.values(), *, least: int = LEAST
) -> None:
    """Sum up what came in, and the days with gaps, for a while; safe to repeat."""
    until = time.monotonic() + WORK_SECONDS
    for kept in streams:
        steps = (
            partial(_take, kept, least),
            partial(_fill, kept),
            partial(_widen, kept),
        )
        for step in steps:
            while time.monotonic() < until and step():
                time.sleep(BREATH_SECONDS)  # on SQLite others write between two pieces


def reach(stream: Stream) -> tuple[int, int]:
    """Return the arrival number up to which events are in, and where wider spans end."""
    marks = RollUpMark.objects.filter(stream=stream.name)
    return marks.values_list("arrival", "until").first() or (BEGINNING, 0)


def gaps(stream: Stream) -> list[date]:
    days = RollUpGap.objects.filter(stream=stream.name).order_by("day")
    return list(days.values_list("day", flat=True))


def leave_gap(stream: Stream, days: set[date]) -> None:
    """Note that the sums of `days` are not right, in the running transaction.

    Anew where that is noted already: whoever sums such a day up learns of it by that.
    """
    RollUpGap.objects.filter(stream=stream.name, day__in=days).delete()
    RollUpGap.objects.bulk_create(
        [RollUpGap(stream=stream.name, day=day) for day in sorted(days)],
        ignore_conflicts=True,
    )


def forget(stream: Stream, day: date) -> None:
    """Delete the sums of a day whose events go, in the running transaction."""
    kept, span = ROLL_UPS[stream.name], day_span(day)
    *finer, week = WIDTHS
    # Else what is taken in meanwhile could go into the week that is deleted here.
    until = _lock(stream).until
    RollUpGap.objects.filter(stream=stream.name, day=day).delete()
    _sums(kept, finer, span).delete()
    start = span.start // week * week
    if start + week <= until:
        _sums(kept, [week], Span(start, start + week)).delete()
        _add_up(kept, week, start)


def _sums(kept: Summed, widths: list[int], span: Span) -> QuerySet[Any]:
    return kept.sums_model._default_manager.filter(
        family__in=list(_families(kept)),
        width__in=widths,
        start__gte=span.start,
        start__lt=span.end,
    )


def _families(kept: Summed) -> Iterator[int]:
    for family in kept.families.values():
        yield family
        yield family + NARROWED


def _lock(stream: Stream) -> RollUpMark:
    """Return the mark, which nobody else moves until the transaction ends."""
    marks = RollUpMark.objects.select_for_update()
    found, made = marks.get_or_create(
        stream=stream.name, defaults={"arrival": BEGINNING}
    )
    if made:
        leave_gap(stream, set(_days_from_before(stream)))
    return found


def _days_from_before(stream: Stream) -> Iterator[date]:
    """Yield the days with events from before arrivals were counted."""
    tallied = stream.tally_model._default_manager.values_list("day", flat=True)
    for day in tallied.distinct():
        if _events_of(stream, day_span(day)).filter(arrival__isnull=True).exists():
            yield day


def _events_of(stream: Stream, span: Span) -> QuerySet[Any]:
    return stream.model._default_manager.order_by().filter(
        **{f"{stream.time_field}__range": (span.first, span.last)}
    )


def _take(kept: Summed, least: int) -> bool:
    """Add the next events to the sums, unless they are few; tell whether more wait."""
    most = MOST if connection.vendor == "postgresql" else _MOST_ON_SQLITE
    # Before the mark is locked: to know what is settled may take waiting for batches.
    there = kept.stream.model._default_manager.filter(citus.settled(kept.stream))
    with queued_write():
        found = _lock(kept.stream)
        later = there.filter(arrival__gt=found.arrival)
        ordered = later.order_by("arrival").values_list("arrival", flat=True)
        # The last of them bounds the piece: numbers have gaps, and a batch that commits
        # meanwhile has higher ones.
        numbers = list(ordered[:most])
        if len(numbers) < max(least, 1):
            return False
        found.arrival = numbers[-1]
        _add(kept, later.filter(arrival__lte=found.arrival), found.until)
        found.save(update_fields=["arrival"])
    return len(numbers) == most


def _fill(kept: Summed) -> bool:
    """Sum the newest day with a gap up anew; tell whether there are others.

    By the hour, for a day may have a hundred million events. The gap stays until all is
    done, so whoever asks meanwhile is answered of the events. Where it is noted anew, or
    goes with its day, nothing is said of the day's sums.
    """
    there = RollUpGap.objects.filter(stream=kept.stream.name)
    gap = there.order_by("-day").first()
    if gap is None:
        return False
    span = day_span(gap.day)
    for start in range(span.start, span.end, HOUR):
        _fill_hour(kept, Span(start, start + HOUR))
        time.sleep(BREATH_SECONDS)
    with queued_write():
        until = _lock(kept.stream).until
        if there.filter(pk=gap.pk).delete()[0]:
            for width in WIDTHS[1:]:
                for start in range(span.start // width * width, span.end, width):
                    _sums(kept, [width], Span(start, start + width)).delete()
                    if start + width <= until:
                        _add_up(kept, width, start)
    return there.exists()


def _fill_hour(kept: Summed, hour: Span) -> None:
    """Sum an hour up anew; the wider spans are the caller's to make."""
    with queued_write():
        found = _lock(kept.stream)
        _sums(kept, [HOUR], hour).delete()
        counted = Q(arrival__lte=found.arrival) | Q(arrival__isnull=True)
        _add(kept, _events_of(kept.stream, hour).filter(counted), hour.start)


def _widen(kept: Summed) -> bool:
    """Add up the next spans that are over; tell whether more wait.

    Six hours at a time, so that the lock is held as briefly after a year's backlog.
    """
    step = WIDTHS[1]
    over = int((clock.now() - LATE - EPOCH).total_seconds()) // step * step
    with queued_write():
        found = _lock(kept.stream)
        if found.until >= over:
            return False
        first = _first_hour(kept, Span(found.until, over))
        # Between here and the first hour that has sums nothing is to be added up.
        begun = over if first is None else first // step * step
        end = max(begun, found.until + step)
        for width in WIDTHS[1:]:
            start = found.until // width * width
            if start + width <= end:
                _add_up(kept, width, start)
        found.until = end
        found.save(update_fields=["until"])
    return end < over


def _first_hour(kept: Summed, span: Span) -> int | None:
    family = next(iter(kept.families.values()))
    sums = kept.sums_model._default_manager.filter(
        family=family, width=HOUR, start__gte=span.start, start__lt=span.end
    )
    return sums.order_by("start").values_list("start", flat=True).first()


def _add_up(kept: Summed, width: int, start: int) -> None:
    """Make the sums of a span of those that it consists of."""
    finer = WIDTHS[WIDTHS.index(width) - 1]
    sums = _sums(kept, [finer], Span(start, start + width)).values(*_columns(kept))
    sql, params = sums.query.sql_with_params()
    _insert(kept, f"WITH finer AS ({sql}) {_wider(kept, width, 'finer')}", params)


def _add(kept: Summed, events: QuerySet[Any], until: int) -> None:
    """Add events to the sums of all families; the events are read once.

    Late ones go into the wider spans too, which are there up to `until`.
    """
    sql, params = _read(kept, events).query.sql_with_params()
    hours = f"hours ({', '.join(_columns(kept))}) AS ({_UNION.join(_hours(kept))})"
    late = (
        _wider(kept, width, f"hours WHERE start < {until // width * width}")
        for width in WIDTHS[1:]
    )
    every = _UNION.join(["SELECT * FROM hours", *late])
    _insert(kept, f"WITH read AS ({sql}), {hours} {every}", params)


def _read(kept: Summed, events: QuerySet[Any]) -> QuerySet[Any]:
    """Return keys, hours and counters of events, under names of their own."""
    named = {
        "at": F(kept.stream.time_field),
        "narrowed": Case(When(kept.narrow, then=1), default=0),
        "hour": Bucket(kept.stream.time_field, HOUR),
        **{f"by_{name}": kept.groups[name].key for name in kept.families},
        **{f"sum_{name}": each for name, each in kept.sums.items()},
    }
    rows: QuerySet[Any] = events.order_by().annotate(**named).values(*named)
    return rows


def _hours(kept: Summed) -> Iterator[str]:
    """Yield what makes the sums of each family by hour."""
    sums = _totals(f"sum_{name}" for name in kept.sums)
    for name, own in kept.families.items():
        for number, which in ((own, ""), (own + NARROWED, "WHERE narrowed = 1")):
            yield (
                f"SELECT {number}, {HOUR}, hour, CAST(by_{name} AS text),"  # noqa: S608 - names of ours
                f" COUNT(*), MIN(at), MAX(at), {sums} FROM read {which}"
                f" GROUP BY hour, by_{name}"
            )


def _wider(kept: Summed, width: int, source: str) -> str:
    """Return what adds up the sums of `source` to those of wider spans."""
    sums = _totals(kept.sums)
    start = f"start / {width} * {width}"
    return (
        f"SELECT family, {width}, {start}, key, {_totals(['events'])}, MIN(first),"  # noqa: S608 - names of ours
        f" MAX(last), {sums} FROM {source} GROUP BY family, {start}, key"
    )


def _totals(columns: Iterable[str]) -> str:
    return ", ".join(total_sql(connection.vendor, [name]) for name in columns)


def _columns(kept: Summed) -> list[str]:
    return ["family", "width", "start", "key", "events", "first", "last", *kept.sums]


def _insert(kept: Summed, select: str, params: tuple[Any, ...]) -> None:
    """Add sums to those that are there; in order of keys, so that pages stay dense."""
    columns = _columns(kept)
    table = kept.sums_model._meta.db_table
    added = ", ".join(_added(table, name) for name in columns[4:])
    execute(
        f"INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608 - names from the models
        f" SELECT * FROM ({select}) AS made WHERE true ORDER BY 1, 2, 3, 4"
        f" ON CONFLICT (family, width, start, key) DO UPDATE SET {added}",
        params,
    )


def _added(table: str, column: str) -> str:
    """Return how a sum that is there takes a new one in; none goes beyond the highest."""
    old, new = f"{table}.{column}", f"excluded.{column}"
    if column in ("first", "last"):
        sign = "<" if column == "first" else ">"
        return f"{column} = CASE WHEN {new} {sign} {old} THEN {new} ELSE {old} END"
    full = f"{old} > {HIGHEST} - {new}"
    return f"{column} = CASE WHEN {full} THEN {HIGHEST} ELSE {old} + {new} END"
