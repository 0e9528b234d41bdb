"""What the streams and the trail say on the admin site's first page."""

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from django.http import HttpRequest

from events.api.filters import ProxyFilterSet, TrafficFilterSet
from events.audit.reading import newest_first
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams.courses import course
from events.streams.subjects import (
    AUDIT_SUBJECT,
    PROXY_SUBJECT,
    TRAFFIC_SUBJECT,
    Subject,
)
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import WEEK_HOURS, Figure, Line, Place, Tone, Trend
from meshmgmt.adminsite.look import second
from meshmgmt.core import clock

NEWEST: Final = 10
HOUR: Final = dt.timedelta(hours=1)


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
    hour = {"start_date": (now - HOUR).isoformat(), "end_date": now.isoformat()}
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
