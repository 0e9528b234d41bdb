"""Events as reporters send them, small and valid; facts override."""

from datetime import timedelta
from typing import Any

from meshmgmt.core import clock

AUDIT_PATH = "/api/events/audit"
TRAFFIC_PATH = "/api/events/network-traffic"
PROXY_PATH = "/api/events/proxy"


def moment(minutes_ago: float = 0) -> str:
    """Return a time `minutes_ago`, as RFC 3339 writes it."""
    return clock.rfc3339(clock.now() - timedelta(minutes=minutes_ago)) or ""


def _peer(identifier: str, name: str, address: str) -> dict[str, str]:
    return {"id": identifier, "type": "PEER", "name": name, "address": address}


def traffic(**facts: Any) -> dict[str, Any]:
    """Return a traffic event; `source` and `destination` merge into the defaults."""
    event: dict[str, Any] = {
        "reporter_id": "reporter-1",
        "source": _peer("peer-1", "laptop", "100.64.0.1"),
        "destination": _peer("peer-2", "database", "100.64.0.2:5432"),
        "protocol": 6,
        "window_end": moment(5),
    }
    ends = ("source", "destination")
    return event | facts | {end: event[end] | facts.get(end, {}) for end in ends}


def proxy(**facts: Any) -> dict[str, Any]:
    """Return an access log entry."""
    return {
        "service_id": "service-1",
        "timestamp": moment(5),
        "method": "GET",
        "host": "wiki.internal",
        "path": "/start",
        "duration_ms": 12,
        "status_code": 200,
        "source_ip": "192.0.2.7",
    } | facts
