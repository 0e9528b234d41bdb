"""What the streams and the trail say on the admin site's first page."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from events.admin.audit import target_name
from events.admin.readonly import shown_second
from events.admin.traffic import kinds_with
from events.audit.reading import newest_first
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from meshmgmt.api import home
from meshmgmt.api.home import Figure, Line, Place, Tone
from meshmgmt.core import clock

NEWEST: Final = 10
HOUR: Final = dt.timedelta(hours=1)
_DROP: Final = "TYPE_DROP"
_FAILED: Final = 500


def contribute() -> None:
    """Add the drops and server errors of the last hour, and the newest changes."""
    home.contribute(Place.LAST_HOUR, "events", _last_hour)
    home.contribute(Place.CHANGES, "events", _changes)


def _last_hour(request: HttpRequest) -> Iterator[Figure]:
    now = clock.now()
    drops, bounds = _hour_until(now, home.visible(request, TrafficEvent), "time")
    drops = drops.filter(kinds__in=kinds_with(_DROP))
    url = home.list_url(TrafficEvent, {"type": _DROP, **bounds})
    yield home.bounded_figure("dropped flows", drops, url, Tone.WARN)
    failed, bounds = _hour_until(now, home.visible(request, ProxyEntry), "timestamp")
    failed = failed.filter(status_code__gte=_FAILED)
    url = home.list_url(ProxyEntry, {"status_code__gte": str(_FAILED), **bounds})
    yield home.bounded_figure("5xx of proxies", failed, url, Tone.WARN)


def _hour_until(
    now: dt.datetime, rows: QuerySet[Any], time_field: str
) -> tuple[QuerySet[Any], dict[str, str]]:
    """Return the rows of the last hour, and the query of the list that shows them.

    It is bounded at both ends: what comes later is not what was counted.
    """
    hour = {f"{time_field}__gte": now - HOUR, f"{time_field}__lt": now}
    bounds = {name: moment.isoformat() for name, moment in hour.items()}
    return rows.filter(**hour), bounds


def _changes(request: HttpRequest) -> Iterator[Line]:
    for event in newest_first(home.visible(request, AuditEvent))[:NEWEST]:
        who = event.initiator_name or event.initiator_email or event.initiator_id
        yield Line(
            event.activity,
            f"{target_name(event)}, by {who}, {shown_second(event.timestamp)} UTC",
            reverse("admin:events_auditevent_change", args=[event.pk]),
        )
