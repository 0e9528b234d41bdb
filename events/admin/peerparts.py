"""What the streams and the trail tell of one peer, on its page."""

from typing import Any, Final

from django.db.models import Q
from django.http import HttpRequest

from events.admin.cells import shown_size
from events.admin.homecards import course, first_hour
from events.audit.reading import newest_first
from events.models import AuditEvent, TrafficEvent
from events.streams.hours import HOUR
from events.streams.subjects import TRAFFIC_SUBJECT
from events.streams.summaries import Question, summarise
from meshmgmt.adminsite import home
from meshmgmt.core import clock

HOURS: Final = 24
SHOWN: Final = 5
_SIDES: Final = (("source", "destination"), ("destination", "source"))


def traffic_of(request: HttpRequest, peer_id: str) -> dict[str, Any] | None:
    """Return a peer's traffic of a day, None for who may not see any."""
    if not request.user.has_perm("events.view_trafficevent"):
        return None
    either = Q(source_id=peer_id) | Q(destination_id=peer_id)
    rows = TrafficEvent.objects.filter(either)
    # No sums are kept by "peer", either end: so events themselves are asked.
    sizes, drops = (
        course(TRAFFIC_SUBJECT, metric, "direction", HOURS, (rows, {"peer": peer_id}))
        for metric in ("bytes", "drops")
    )
    return {
        "size": shown_size(sum(sizes)),
        "largest": shown_size(max(sizes)),
        "path": home.chart(sizes),
        "width": home.CHART_WIDTH,
        "height": home.CHART_HEIGHT,
        "drops": sum(drops),
        "sides": [_side(peer_id, *ends) for ends in _SIDES],
        "week_url": home.list_url(
            TrafficEvent, {"reporter_id": peer_id, "start_date": "-7d"}
        ),
    }


def _side(peer_id: str, own: str, other: str) -> dict[str, Any]:
    """Return whom the peer had most traffic with as one end, and what was dropped."""
    start = first_hour(HOURS)
    query = {own: peer_id, "start_date": start.isoformat()}
    question = Question((other,), "bytes", HOUR, start, clock.now(), SHOWN)
    rows = TrafficEvent.objects.filter(**{f"{own}_id": peer_id})
    groups = summarise(TRAFFIC_SUBJECT, rows, {own: peer_id}, question)["groups"]
    return {
        "others": [
            {
                "name": group["name"] or group["key"][other],
                "size": shown_size(group["value"]),
                "url": home.list_url(TrafficEvent, query | group["key"]),
            }
            for group in groups
        ],
        "outward": own == "source",
        "url": home.list_url(TrafficEvent, query),
        "drops_url": home.list_url(TrafficEvent, query | {"type": "TYPE_DROP"}),
    }


def changes_of(request: HttpRequest, target_id: str) -> list[dict[str, Any]] | None:
    """Return the newest events about an object, None for who may not read the trail.

    Each with its page, and to what of the object it was done.
    """
    if not request.user.has_perm("events.view_auditevent"):
        return None
    about = AuditEvent.objects.filter(target_id=target_id).defer("search")
    return [
        {"event": event, "detail": _detail(event), "url": home.object_url(event)}
        for event in newest_first(about)[:SHOWN]
    ]


def _detail(event: AuditEvent) -> str:
    """Return the group it was about, or the first fields that have another value."""
    if group := event.meta.get("group"):
        return str(group)
    fields = [field.replace("_", " ") for field in event.changes]
    more = f" and {len(fields) - SHOWN} more" if len(fields) > SHOWN else ""
    return ", ".join(fields[:SHOWN]) + more
