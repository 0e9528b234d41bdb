"""Top groups and time series of the big streams."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    F,
    Func,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, NullIf

from events.enrichment import directory
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.instants import render_instant
from events.streams.traffic import CONNECTIONS, DIRECTIONS

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
        """Return the SQL for PostgreSQL."""
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


def _end(side: str) -> Coalesce:
    """Return the id of an end, or its address when it has none."""
    empty = Value("", output_field=TextField())
    return Coalesce(NullIf(f"{side}_id", empty), F(f"{side}_address"))


_SUCCESS: Final = Q(status_code__gte=200, status_code__lt=400)

GROUPS: Final[dict[str, dict[str, Any]]] = {
    TRAFFIC.name: {
        "source": _end("source"),
        "destination": _end("destination"),
        "user": F("user_id"),
        "policy": F("policy_id"),
        "protocol": F("protocol"),
        "reporter": F("reporter_id"),
        "direction": F("direction"),
        "connection_type": F("connection_type"),
    },
    PROXY.name: {
        "host": F("host"),
        "path": F("path"),
        "method": F("method"),
        "status": Case(
            When(_SUCCESS, then=Value("success")),
            default=Value("failed"),
            output_field=TextField(),
        ),
        "status_code": F("status_code"),
        "source_ip": F("source_ip"),
        "user": F("user_id"),
        "service": F("service_id"),
        "auth_method": F("auth_method_used"),
        "reason": F("reason"),
        "country": F("country_code"),
    },
}

METRICS: Final[dict[str, dict[str, Callable[[], Any]]]] = {
    TRAFFIC.name: {
        "bytes": lambda: Sum(F("rx_bytes") + F("tx_bytes")),
        "flows": lambda: Sum("flows"),
        "drops": lambda: Sum("drops"),
    },
    PROXY.name: {
        "requests": lambda: Count("id"),
        "bytes": lambda: Sum(F("bytes_upload") + F("bytes_download")),
        "failures": lambda: Count("id", filter=~_SUCCESS),
    },
}

_WORDS: Final = {"direction": DIRECTIONS, "connection_type": CONNECTIONS}


@dataclass(frozen=True, slots=True)
class Question:
    """What a summary is asked: by which fields, which metric, in which span."""

    group_by: tuple[str, ...]
    metric: str
    bucket_seconds: int
    start: datetime
    end: datetime
    limit: int


def summarise(stream: Stream, matching: Rows, question: Question) -> dict[str, Any]:
    """Return the biggest groups among `matching`, with their time series."""
    time = stream.time_field
    rows = matching.filter(
        **{f"{time}__gte": question.start, f"{time}__lte": question.end}
    )
    metric = METRICS[stream.name][question.metric]
    keys = {f"by_{name}": GROUPS[stream.name][name] for name in question.group_by}
    top = list(
        rows.order_by()
        .annotate(**keys)
        .values(*keys)
        .annotate(value=metric(), events=Count("id"), first=Min(time), last=Max(time))
        .filter(value__gt=0)
        .order_by("-value", *keys)[: question.limit]
    )
    series = _series(stream, rows.annotate(**keys), top, list(keys), question)
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
                    name: _shown(name, found[f"by_{name}"])
                    for name in question.group_by
                },
                "name": _name(stream, rows.annotate(**keys), question, found),
                "value": int(found["value"]),
                "events": found["events"],
                "first": render_instant(found["first"]),
                "last": render_instant(found["last"]),
                "series": series.get(tuple(found[key] for key in keys), []),
            }
            for found in top
        ],
    }


def _shown(name: str, value: Any) -> str:
    return _WORDS[name][value] if name in _WORDS else str(value)


def _series(
    stream: Stream, rows: Rows, top: Sequence[Any], keys: list[str], question: Question
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the points of each group; buckets without events have none."""
    if not top:
        return {}
    chosen = Q()
    for found in top:
        chosen |= Q(**{key: found[key] for key in keys})
    points = (
        rows.filter(chosen)
        .order_by()
        .annotate(bucket=Bucket(stream.time_field, question.bucket_seconds))
        .values(*keys, "bucket")
        .annotate(value=METRICS[stream.name][question.metric]())
        .order_by("bucket")
    )
    series: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for point in points:
        moment = datetime.fromtimestamp(point["bucket"], UTC)
        series.setdefault(tuple(point[key] for key in keys), []).append(
            {"time": render_instant(moment), "value": int(point["value"])}
        )
    return series


def _name(stream: Stream, rows: Rows, question: Question, found: Any) -> str:
    """Return what people call the group: the names of its fields, as far as known."""
    names = []
    for field in question.group_by:
        key = found[f"by_{field}"]
        if stream is PROXY:
            users = directory.users({key}) if field == "user" and key else ()
            names.append(next((user.name for user in users), ""))
        elif field in {"source", "destination", "user", "policy"} and key:
            names.append(_name_in_newest(rows, field, found, question))
        elif field == "reporter":
            peers = directory.peers({key}, ())
            names.append(next((peer.name for peer in peers), ""))
        elif field == "protocol":
            names.append({1: "ICMP", 6: "TCP", 17: "UDP"}.get(key, ""))
    return " / ".join(name for name in names if name)


def _name_in_newest(rows: Rows, field: str, found: Any, question: Question) -> str:
    keys = {f"by_{name}": found[f"by_{name}"] for name in question.group_by}
    newest = rows.filter(time=found["last"], **keys).order_by("-id").first()
    if newest is None:
        return ""
    facts = newest.content[field]
    return str(facts["name"] or facts.get("email", ""))
