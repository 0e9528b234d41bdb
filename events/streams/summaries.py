"""Top groups and time series of the event streams.

An answer is added up of parts: sums by hour, day and week where they can tell, events where
they cannot, such as those of the first and the last minutes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial, reduce
from operator import or_
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    BigIntegerField,
    Count,
    F,
    IntegerField,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    Value,
)
from django.db.models.functions import Cast

from events.instants import render_instant
from events.streams import rollups
from events.streams.hours import (
    EPOCH,
    HOUR,
    INSTANT,
    WIDTHS,
    Bucket,
    Span,
    day_span,
    whole_hours,
)
from events.streams.statements import HIGHEST, total_sql
from events.streams.subjects import Subject, Summed
from events.vocabulary import FUTURE
from meshmgmt.core import clock
from meshmgmt.core.queries import fetched
from meshmgmt.core.transactions import read_snapshot

MAX_BUCKETS: Final = 2000
MAX_GROUP_FIELDS: Final = 3

MOST_NAMED: Final = 2500
"""So many spans, three months of hours, are named one by one."""

Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What a summary is asked: by which fields, which metric, in which span."""

    group_by: tuple[str, ...]
    metric: str
    bucket_seconds: int
    start: datetime
    end: datetime
    limit: int


@dataclass(frozen=True, slots=True)
class Part:
    """Events or sums that belong to an answer, and what makes keys and figures of them.

    `bucket` makes the start of a bucket of so many seconds, `among` by group a condition
    that keys are among some, where an index serves that better than equality.
    """

    rows: Rows
    keys: Mapping[str, Any]
    value: Any
    events: Any
    first: Any
    last: Any
    bucket: Callable[[int], Any]
    among: Mapping[str, Callable[[list[Any]], Q]]

    def only(self, names: Sequence[str], groups: Sequence[tuple[Any, ...]]) -> "Part":
        """Return what belongs to groups, of which these are the keys."""
        chosen = Q()
        for position, name in enumerate(names):
            keys = list({group[position] for group in groups})
            equal = Q(**{f"by_{name}__in": keys})
            chosen &= self.among[name](keys) if name in self.among else equal
        if len(names) > 1:
            pairs = [dict(zip(self.keys, group, strict=True)) for group in groups]
            chosen &= reduce(or_, (Q(**pair) for pair in pairs))
        rows = self.rows.annotate(**self.keys).filter(chosen)
        return replace(self, rows=rows)

    def in_buckets(self, seconds: int) -> "Part":
        """Return the same with the bucket as a further key."""
        return replace(self, keys={**self.keys, "bucket": self.bucket(seconds)})

    def sql(self, columns: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
        """Return the statement that gives keys and columns. Raises EmptyResultSet."""
        found = self.rows.order_by().annotate(**self.keys).values(*self.keys)
        sql, params = found.annotate(**columns).query.sql_with_params()
        # Parts are joined by the position of their columns, and Django has its own order.
        names = ", ".join([*self.keys, *columns])
        return f"SELECT {names} FROM ({sql}) AS part", params  # noqa: S608 - names of ours


@dataclass(frozen=True, slots=True)
class Group:
    """One of the biggest groups."""

    keys: tuple[Any, ...]
    value: int
    events: int
    first: datetime
    last: datetime


# Sums, their mark, and the events beyond it must be of one state.
@read_snapshot()
def summarise(
    subject: Subject, matching: Rows, asked: Mapping[str, Any], question: Question
) -> dict[str, Any]:
    """Return the answer. `asked` holds the filters that made `matching`, dates aside."""
    total, top = _top(_parts(subject, matching, asked, question, WIDTHS), question)
    series = _series(subject, matching, asked, question, top) if top else {}
    keyed = matching.annotate(**_keys(subject, question))
    return {
        "group_by": list(question.group_by),
        "metric": question.metric,
        "bucket_seconds": question.bucket_seconds,
        "start_date": render_instant(question.start),
        "end_date": render_instant(question.end),
        "total": total,
        "groups": [
            {
                "key": {
                    name: subject.shown(name, key)
                    for name, key in zip(question.group_by, found.keys, strict=True)
                },
                "name": _name(subject, keyed, question.group_by, found),
                "value": found.value,
                "events": found.events,
                "first": render_instant(found.first),
                "last": render_instant(found.last),
                "series": series.get(found.keys, []),
            }
            for found in top
        ],
    }


@read_snapshot()
def events_by(
    subject: Subject, group: str, keys: Collection[Any], start: datetime
) -> dict[Any, int]:
    """Return how many events since `start` have each of the keys, those with none aside."""
    end = clock.now() + FUTURE  # none is taken that is further ahead
    question = Question((group,), next(iter(subject.metrics)), HOUR, start, end, 0)
    wanted = [(key,) for key in keys]
    rows = subject.model._default_manager.all()
    parts = _parts(subject, rows, {}, question, WIDTHS)
    together, params = _together(
        (part.only((group,), wanted) for part in parts),
        lambda part: {"events": part.events},
    )
    if not together:
        return {}
    counted = f"SELECT by_{group}, SUM(events) FROM ({together}) AS parts GROUP BY 1"  # noqa: S608 - names of ours
    return {key: int(number) for key, number in fetched(counted, params)}


def _keys(subject: Subject, question: Question) -> dict[str, Any]:
    return {f"by_{name}": subject.groups[name].key for name in question.group_by}


def sums_answer(
    subject: Subject, group_by: Sequence[str], asked: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return which sums answer a question, of whole hours; None where events must."""
    [group, *more] = group_by
    return (
        subject.answer(group, asked)
        if isinstance(subject, Summed) and not more
        else None
    )


def _parts(
    subject: Subject,
    matching: Rows,
    asked: Mapping[str, Any],
    question: Question,
    widths: Sequence[int],
) -> Iterator[Part]:
    """Yield what adds up to the answer: sums of these widths, and events beside them."""
    events = partial(_events, subject, question, matching)
    hours = whole_hours(question.start, question.end)
    fields = sums_answer(subject, question.group_by, asked)
    if hours is None or fields is None or not isinstance(subject, Summed):
        yield events(question.start, question.end)
        return
    arrival, until = rollups.reach(subject.stream)
    if arrival == rollups.BEGINNING:
        # By arrival all events of the stream would be looked at, and those from before
        # arrivals were counted would not.
        yield events(question.start, question.end)
        return
    holes = [day_span(day) for day in rollups.gaps(subject.stream)]
    summed = [
        each for span in hours.without(holes) for each in span.by_width(widths, until)
    ]
    if summed:
        yield _sums(subject, fields, question, summed)
    later = events(hours.first, hours.last)
    # With a bound at either end SQLite, too, goes by these numbers, not by the whole span.
    beyond = Q(arrival__gt=arrival, arrival__lte=HIGHEST)
    for hole in holes:
        beyond &= ~_between(subject, hole.first, hole.last)
        for shared in hole.within(hours):
            yield events(shared.first, shared.last)
    yield replace(later, rows=later.rows.filter(beyond))
    if question.start < hours.first:
        yield events(question.start, hours.first - INSTANT)
    if question.end > hours.last:
        yield events(hours.last + INSTANT, question.end)


def _between(subject: Subject, first: datetime, last: datetime) -> Q:
    return Q(**{f"{subject.time_field}__range": (first, last)})


def _events(
    subject: Subject,
    question: Question,
    matching: Rows,
    first: datetime,
    last: datetime,
) -> Part:
    """Return the events between two instants, both included."""
    time = subject.time_field
    return Part(
        rows=matching.filter(_between(subject, first, last)),
        keys=_keys(subject, question),
        value=subject.metrics[question.metric](),
        events=Count("pk"),
        first=Min(time),
        last=Max(time),
        bucket=partial(Bucket, time),
        among=subject.indexed,
    )


def _sums(
    kept: Summed,
    fields: Mapping[str, Any],
    question: Question,
    spans: Sequence[tuple[int, Span]],
) -> Part:
    """Return the sums of spans, each of one width."""
    [group] = question.group_by
    key = Cast("key", IntegerField()) if kept.groups[group].whole else F("key")
    # One condition of all spans: parts of their own would each be grouped by key first.
    asked = reduce(
        or_,
        (
            Q(width=width, start__gte=span.start, start__lt=span.end)
            for width, span in spans
        ),
    )
    starts = [(width, range(span.start, span.end, width)) for width, span in spans]

    def among(keys: list[Any]) -> Q:
        """Name the rows one by one: the index has them by start, then by key."""
        chosen = Q(key__in=[str(each) for each in keys])
        if sum(len(each) for _, each in starts) > MOST_NAMED:
            return chosen
        named = (Q(width=width, start__in=each) for width, each in starts)
        return chosen & reduce(or_, named)

    return Part(
        rows=kept.sums_model._default_manager.filter(asked, **fields),
        keys={f"by_{group}": key},
        value=kept.of_sums[question.metric](),
        events=Sum("events"),
        first=Min("first"),
        last=Max("last"),
        bucket=lambda seconds: (
            F("start") - F("start") % Value(seconds, BigIntegerField())
        ),
        among={group: among},
    )


def _top(parts: Iterable[Part], question: Question) -> tuple[int, list[Group]]:
    """Return the sum of all groups, and the biggest."""
    together, params = _together(
        parts,
        lambda part: {
            "value": part.value,
            "events": part.events,
            "first": part.first,
            "last": part.last,
        },
    )
    if not together:
        return 0, []
    # The total is that of the groups, in the same statement: events are read once for both.
    keys = ", ".join(f"by_{name}" for name in question.group_by)
    total = total_sql(connection.vendor, ["value"])
    rows = fetched(
        f"WITH found AS (SELECT {keys}, {total} AS value, SUM(events) AS events,"  # noqa: S608 - names of ours
        f" MIN(first) AS first, MAX(last) AS last FROM ({together}) AS parts"
        f" GROUP BY {keys})"
        f" SELECT (SELECT {total} FROM found), value, events, first, last, {keys}"
        f" FROM found WHERE value > 0 ORDER BY value DESC, {keys} LIMIT %s",
        [*params, question.limit],
    )
    groups = [
        Group(tuple(key), value, int(events), _instant(first), _instant(last))
        for _, value, events, first, last, *key in rows
    ]
    return (rows[0][0] if rows else 0), groups


def _series(
    subject: Subject,
    matching: Rows,
    asked: Mapping[str, Any],
    question: Question,
    top: Sequence[Group],
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the points of each group; buckets without events have none."""
    # Buckets begin with the epoch, as all widths of sums do: sums whose width divides a
    # bucket lie in one.
    seconds = question.bucket_seconds
    parts: Iterable[Part] = [
        _events(subject, question, matching, question.start, question.end)
    ]
    if widths := [width for width in WIDTHS if seconds % width == 0]:
        parts = _parts(subject, matching, asked, question, widths)
    groups = [group.keys for group in top]
    together, params = _together(
        (part.only(question.group_by, groups).in_buckets(seconds) for part in parts),
        lambda part: {"value": part.value},
    )
    keys = ", ".join(f"by_{name}" for name in question.group_by)
    rows = fetched(
        f"SELECT bucket, {total_sql(connection.vendor, ['value'])}, {keys}"  # noqa: S608 - names of ours
        f" FROM ({together}) AS parts GROUP BY {keys}, bucket ORDER BY bucket",
        params,
    )
    series: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for bucket, value, *key in rows:
        moment = render_instant(EPOCH + timedelta(seconds=bucket))
        series.setdefault(tuple(key), []).append({"time": moment, "value": value})
    return series


def _together(
    parts: Iterable[Part], columns: Callable[[Part], Mapping[str, Any]]
) -> tuple[str, list[Any]]:
    """Return a statement that gives what all parts do, "" when they can hold nothing."""
    statements: list[str] = []
    params: list[Any] = []
    for part in parts:
        with suppress(EmptyResultSet):  # a filter that nothing can match
            sql, own = part.sql(columns(part))
            statements.append(sql)
            params += own
    return " UNION ALL ".join(statements), params


def _instant(moment: datetime | str) -> datetime:
    """Return a time; SQLite gives those of expressions as texts, in UTC."""
    if isinstance(moment, str):
        return datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return moment


def _name(subject: Subject, keyed: Rows, group_by: Sequence[str], found: Group) -> str:
    """Return what people call the group: the names of its fields, as far as known."""

    @cache
    def newest() -> Any:
        """Return the group's newest event, which knows names as they were then."""
        same = {
            f"by_{name}": key for name, key in zip(group_by, found.keys, strict=True)
        }
        same[subject.time_field] = found.last
        # Several may share the instant; any of them will do, the same one each time.
        return keyed.filter(**same).order_by("-pk").first()

    names = [
        subject.name_of(name, key, newest)
        for name, key in zip(group_by, found.keys, strict=True)
    ]
    return " / ".join(name for name in names if name)
