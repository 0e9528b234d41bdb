"""What the streams and the trail say on the admin site's first page."""

import datetime as dt
from collections.abc import Iterator
from typing import Final

from django.http import HttpRequest
from django.urls import reverse

from events.admin.cells import shown_second
from events.api.filters import ProxyFilterSet, TrafficFilterSet
from events.audit.reading import newest_first
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from meshmgmt.api import home
from meshmgmt.api.home import Figure, Line, Place, Tone
from meshmgmt.core import clock

NEWEST: Final = 10
HOUR: Final = dt.timedelta(hours=1)


def contribute() -> None:
    """Add the drops and server errors of the last hour, and the newest changes."""
    home.contribute(Place.LAST_HOUR, "events", _last_hour)
    home.contribute(Place.CHANGES, "events", _changes)


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
        who = event.initiator_name or event.initiator_email or event.initiator_id
        yield Line(
            event.activity,
            f"{event.target_name}, by {who}, {shown_second(event.timestamp)} UTC",
            reverse("admin:events_auditevent_change", args=[event.pk]),
        )
