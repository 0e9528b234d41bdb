"""What the streams and the trail say on the admin site's first page."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from events.admin.audit import target_name
from events.admin.cells import shown_second
from events.api.filters import ProxyFilterSet, StreamFilterSet, TrafficFilterSet
from events.audit.reading import newest_first
from events.models import AuditEvent
from meshmgmt.api import home
from meshmgmt.api.home import Figure, Line, Place, Tone
from meshmgmt.core import clock
from meshmgmt.core.clock import rfc3339

NEWEST: Final = 10
HOUR: Final = dt.timedelta(hours=1)


def contribute() -> None:
    """Add the drops and server errors of the last hour, and the newest changes."""
    home.contribute(Place.LAST_HOUR, "events", _last_hour)
    home.contribute(Place.CHANGES, "events", _changes)


def _last_hour(request: HttpRequest) -> Iterator[Figure]:
    now = clock.now()
    hour = {"start_date": rfc3339(now - HOUR), "end_date": rfc3339(now)}
    for label, filters, query in (
        ("dropped flows", TrafficFilterSet, {"type": "TYPE_DROP"}),
        ("5xx of proxies", ProxyFilterSet, {"status_class": "5xx"}),
    ):
        yield _counted(request, label, filters, {**query, **hour})


def _counted(
    request: HttpRequest,
    label: str,
    filters: type[StreamFilterSet],
    query: Mapping[str, Any],
) -> Figure:
    """Return how many events an explorer shows for a query.

    It is bounded at both ends: what comes later is not what was counted.
    """
    model = filters._meta.model
    assert model is not None
    rows = filters(query, home.visible(request, model)).qs
    return home.bounded_figure(label, rows, home.list_url(model, query), Tone.WARN)


def _changes(request: HttpRequest) -> Iterator[Line]:
    for event in newest_first(home.visible(request, AuditEvent))[:NEWEST]:
        who = event.initiator_name or event.initiator_email or event.initiator_id
        yield Line(
            event.activity,
            f"{target_name(event)}, by {who}, {shown_second(event.timestamp)} UTC",
            reverse("admin:events_auditevent_change", args=[event.pk]),
        )
