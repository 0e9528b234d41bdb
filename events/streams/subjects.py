"""What the summaries can group each stream by, add up, and call it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Case, Count, F, Model, Q, TextField, Value, When
from django.db.models.functions import Coalesce, NullIf

from events.activities import Activity
from events.directory import directory
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams.totals import Total
from events.vocabulary import CONNECTIONS, DIRECTIONS

Newest = Callable[[], Any]
"""Returns the newest event of a group, None when it is gone."""


@dataclass(frozen=True)
class Subject:
    """A stream as summaries see it.

    `groups` holds an expression for each name to group by, `metrics` makes the
    aggregates; the first of each is the default. `names` tells what people call a key.
    """

    model: type[Model]
    time_field: str
    groups: Mapping[str, Any]
    metrics: Mapping[str, Callable[[], Any]]
    names: Mapping[str, Callable[[Any, Newest], str]]
    words: Mapping[str, tuple[str, ...]]

    def shown(self, group: str, key: Any) -> str:
        return self.words[group][key] if group in self.words else str(key)

    def name_of(self, group: str, key: Any, newest: Newest) -> str:
        """Return what people call the key, "" when it has no name of its own."""
        if group not in self.names or key in ("", None):
            return ""
        return self.names[group](key, newest)


def _end(side: str) -> Coalesce:
    """Return the id of an end, or its address when it has none."""
    empty = Value("", output_field=TextField())
    return Coalesce(NullIf(f"{side}_id", empty), F(f"{side}_address"))


def _in_event(field: str) -> Callable[[Any, Newest], str]:
    """Return a function that reads the name out of the newest event."""

    def name(key: Any, newest: Newest) -> str:
        event = newest()
        if event is None:
            return ""
        facts = event.content[field]
        return str(facts["name"] or facts.get("email", ""))

    return name


def _reporter(key: str, newest: Newest) -> str:
    return next((peer.name for peer in directory.peers({key}, ())), "")


def _user(key: str, newest: Newest) -> str:
    return next((user.name for user in directory.users({key})), "")


def _protocol(key: int, newest: Newest) -> str:
    return {1: "ICMP", 6: "TCP", 17: "UDP"}.get(key, "")


def _initiator(key: str, newest: Newest) -> str:
    event = newest()
    return "" if event is None else event.initiator_name or event.initiator_email


def _target(key: str, newest: Newest) -> str:
    event = newest()
    if event is None:
        return ""
    return str(event.meta.get("name") or event.meta.get("new_name") or "")


def _activity(key: str, newest: Newest) -> str:
    return str(Activity(key).label) if key in Activity.values else ""


_SUCCESS: Final = Q(status_code__gte=200, status_code__lt=400)
# TCP and UDP have no status (0), which tells nothing of success.
_FAILURE: Final = ~_SUCCESS & ~Q(status_code=0)

TRAFFIC_SUBJECT: Final = Subject(
    model=TrafficEvent,
    time_field="time",
    groups={
        "source": _end("source"),
        "destination": _end("destination"),
        "user": F("user_id"),
        "policy": F("policy_id"),
        "protocol": F("protocol"),
        "reporter": F("reporter_id"),
        "direction": F("direction"),
        "connection_type": F("connection_type"),
    },
    metrics={
        "bytes": lambda: Total("rx_bytes", "tx_bytes"),
        "flows": lambda: Total("flows"),
        "drops": lambda: Total("drops"),
    },
    names={
        "source": _in_event("source"),
        "destination": _in_event("destination"),
        "user": _in_event("user"),
        "policy": _in_event("policy"),
        "protocol": _protocol,
        "reporter": _reporter,
    },
    words={"direction": DIRECTIONS, "connection_type": CONNECTIONS},
)

PROXY_SUBJECT: Final = Subject(
    model=ProxyEntry,
    time_field="timestamp",
    groups={
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
    metrics={
        "requests": lambda: Count("pk"),
        "bytes": lambda: Total("bytes_upload", "bytes_download"),
        "failures": lambda: Count("pk", filter=_FAILURE),
    },
    names={"user": _user},
    words={},
)

AUDIT_SUBJECT: Final = Subject(
    model=AuditEvent,
    time_field="timestamp",
    groups={
        "activity": F("activity_code"),
        "initiator": F("initiator_id"),
        "target": F("target_id"),
        "target_type": F("target_type"),
        "source_address": F("source_address"),
    },
    metrics={"events": lambda: Count("pk")},
    names={"activity": _activity, "initiator": _initiator, "target": _target},
    words={},
)
