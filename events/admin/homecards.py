"""What the streams and the trail say on the admin site's first page.

How much of something there was in each of the last hours, pages of peers show, too.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.http import HttpRequest

from events.api.filters import ProxyFilterSet, TrafficFilterSet
from events.audit.reading import newest_first
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams.hours import HOUR
from events.streams.subjects import (
    AUDIT_SUBJECT,
    PROXY_SUBJECT,
    TRAFFIC_SUBJECT,
    Subject,
)
from events.streams.summaries import Question, Rows, summarise
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import WEEK_HOURS, Figure, Line, Place, Tone, Trend
from meshmgmt.adminsite.look import second
from meshmgmt.core import clock

NEWEST: Final = 10
_HOUR: Final = dt.timedelta(hours=1)
_EVERY_GROUP: Final = 100
"""More than any field has values that a course is added up from."""


def register() -> None:
    """Add the trends, what went wrong in the last hour, and the newest changes."""
    home.contribute(Place.TRENDS, "events", _trends)
    home.contribute(Place.LAST_HOUR, "events", _last_hour)
    home.contribute(Place.CHANGES, "events", _changes)


class _Shown(NamedTuple):
    """A metric of a stream: what it is called, and the field and rows behind it."""

    label: str
    subject: Subject
    metric: str
    by: str
    query: dict[str, str]


_SHOWN: Final = (
    _Shown("Flows", TRAFFIC_SUBJECT, "flows", "direction", {}),
    _Shown("Drops", TRAFFIC_SUBJECT, "drops", "direction", {"type": "TYPE_DROP"}),
    _Shown(
        "Refused and failed requests to proxies",
        PROXY_SUBJECT,
        "failures",
        "status",
        {"status": "failed"},
    ),
    _Shown("Changes", AUDIT_SUBJECT, "events", "target_type", {}),
)
KEPT: Final = dt.timedelta(minutes=5)
_kept: Final[dict[str, tuple[dt.datetime, list[Trend]]]] = {}
"""The trends of this process and when they were added up: days of events take a while."""


def _trends(request: HttpRequest) -> Iterator[Trend | Line]:
    since, found = _kept.get("week", (None, []))
    if since is None or not clock.now() - KEPT < since <= clock.now():
        if not (home.is_renewal(request) or "trends" in request.GET):
            yield Line("They are being added up", url="?trends=1", later=True)
            return
        found = list(filter(None, map(_trend, _SHOWN)))
        _kept["week"] = (clock.now(), found)
    yield from found


def _trend(shown: _Shown) -> Trend | None:
    """Return how a metric went, None if there was nothing all week."""
    subject = shown.subject
    values = course(subject, shown.metric, shown.by, WEEK_HOURS)
    if not any(values):
        return None
    url = home.list_url(subject.model, {**shown.query, "start_date": "-7d"})
    return home.trend(shown.label, url, values, _total)


def _total(values: Sequence[float | None]) -> str:
    return f"{sum(filter(None, values)):,}"


def _last_hour(request: HttpRequest) -> Iterator[Figure]:
    now = clock.now()
    hour = {"start_date": (now - _HOUR).isoformat(), "end_date": now.isoformat()}
    # Bounded at both ends: what comes later is not what was counted.
    query = {"type": "TYPE_DROP", **hour}
    drops = TrafficFilterSet(query, home.visible(request, TrafficEvent)).qs
    url = home.list_url(TrafficEvent, query)
    yield home.bounded_figure("dropped flow{s}", drops, url, Tone.WARN)
    query = {"status_class": "5xx", **hour}
    failed = ProxyFilterSet(query, home.visible(request, ProxyEntry)).qs
    url = home.list_url(ProxyEntry, query)
    yield home.bounded_figure("5xx of proxies", failed, url, Tone.WARN)


def _changes(request: HttpRequest) -> Iterator[Line]:
    for event in newest_first(home.visible(request, AuditEvent))[:NEWEST]:
        done = (
            f"{event.target_name}, by {event.initiator}, {second(event.timestamp)} UTC"
        )
        yield Line(event.activity, done, home.object_url(event))


def first_hour(hours: int) -> dt.datetime:
    """Return when the first of the last `hours` hours began, the running one included."""
    begun = clock.now().astimezone(dt.UTC).replace(minute=0, second=0, microsecond=0)
    return begun - dt.timedelta(hours=hours - 1)


def course(
    subject: Subject,
    metric: str,
    by: str,
    hours: int,
    matching: tuple[Rows, Mapping[str, Any]] | None = None,
) -> list[int]:
    """Return a metric of whole hours (UTC), oldest first; the last one has just begun.

    It is added up from groups `by` a field of few values. `matching` are rows with the
    filters that made them; default: all.
    """
    rows, asked = matching or (subject.model._default_manager.all(), {})
    start = first_hour(hours)
    question = Question((by,), metric, HOUR, start, clock.now(), _EVERY_GROUP)
    values = [0] * hours
    for group in summarise(subject, rows, asked, question)["groups"]:
        for point in group["series"]:
            since = dt.datetime.fromisoformat(point["time"]) - start
            values[since // _HOUR] += point["value"]
    return values
