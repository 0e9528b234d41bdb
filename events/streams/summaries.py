"""Top groups and time series of the event streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from django.db.models import BigIntegerField, Count, F, Func, Max, Min, Q, QuerySet

from events.instants import render_instant
from events.streams.subjects import Subject

MAX_BUCKETS: Final = 2000
MAX_GROUP_FIELDS: Final = 3

Rows = QuerySet[Any]


class Bucket(Func):
    """Start of the bucket a time falls into, as seconds since the epoch."""

    output_field = BigIntegerField()

    def __init__(self, time: str, seconds: int) -> None:
        super().__init__(F(time))
        self.seconds = seconds

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        whole = f"(floor(extract(epoch from %(expressions)s) / {self.seconds})"
        return super().as_sql(
            compiler, connection, template=f"{whole} * {self.seconds})::bigint"
        )

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        """Return the SQL for SQLite, where % must be doubled twice."""
        whole = "CAST(strftime('%%%%s', %(expressions)s) AS INTEGER)"
        return super().as_sql(
            compiler,
            connection,
            template=f"({whole} / {self.seconds} * {self.seconds})",
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What a summary is asked: by which fields, which metric, in which span."""

    group_by: tuple[str, ...]
    metric: str
    bucket_seconds: int
    start: datetime
    end: datetime
    limit: int


def summarise(subject: Subject, matching: Rows, question: Question) -> dict[str, Any]:
    time = subject.time_field
    keys = {f"by_{name}": subject.groups[name] for name in question.group_by}
    rows = matching.filter(
        **{f"{time}__gte": question.start, f"{time}__lte": question.end}
    )
    metric = subject.metrics[question.metric]
    keyed = rows.annotate(**keys)
    top = list(
        keyed.order_by()
        .values(*keys)
        .annotate(value=metric(), events=Count("pk"), first=Min(time), last=Max(time))
        .filter(value__gt=0)
        .order_by("-value", *keys)[: question.limit]
    )
    series = _series(subject, keyed, top, list(keys), question)
    return {
        "group_by": list(question.group_by),
        "metric": question.metric,
        "bucket_seconds": question.bucket_seconds,
        "start_date": render_instant(question.start),
        "end_date": render_instant(question.end),
        "total": int(rows.order_by().aggregate(value=metric())["value"] or 0),
        "groups": [
            {
                "key": {
                    name: subject.shown(name, found[f"by_{name}"])
                    for name in question.group_by
                },
                "name": _name(subject, keyed, list(keys), found),
                "value": int(found["value"]),
                "events": found["events"],
                "first": render_instant(found["first"]),
                "last": render_instant(found["last"]),
                "series": series.get(tuple(found[key] for key in keys), []),
            }
            for found in top
        ],
    }


def _series(
    subject: Subject, keyed: Rows, top: Sequence[Any], keys: list[str], asked: Question
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the points of each group; buckets without events have none."""
    if not top:
        return {}
    chosen = Q()
    for found in top:
        chosen |= Q(**{key: found[key] for key in keys})
    points = (
        keyed.filter(chosen)
        .order_by()
        .annotate(bucket=Bucket(subject.time_field, asked.bucket_seconds))
        .values(*keys, "bucket")
        .annotate(value=subject.metrics[asked.metric]())
        .order_by("bucket")
    )
    series: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points:
        moment = datetime.fromtimestamp(point["bucket"], UTC)
        series.setdefault(tuple(point[key] for key in keys), []).append(
            {"time": render_instant(moment), "value": int(point["value"])}
        )
    return series


def _name(subject: Subject, keyed: Rows, keys: list[str], found: Any) -> str:
    """Return what people call the group: the names of its fields, as far as known."""

    @cache
    def newest() -> Any:
        """Return the group's newest event, which knows names as they were then."""
        same = {key: found[key] for key in keys}
        same[subject.time_field] = found["last"]
        return keyed.filter(**same).order_by("-pk").first()

    names = [
        subject.name_of(key.removeprefix("by_"), found[key], newest) for key in keys
    ]
    return " / ".join(name for name in names if name)
