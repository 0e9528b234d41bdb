"""What the summaries can group each stream by, add up, and call it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    Model,
    Q,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, NullIf

from events import directory
from events.activities import LABELS
from events.directory import PeerFacts, UserFacts
from events.models import (
    AuditEvent,
    ProxyEntry,
    ProxyRollUp,
    RollUp,
    TrafficEvent,
    TrafficRollUp,
)
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.statements import Total
from events.vocabulary import CONNECTIONS, DIRECTIONS, KIND_BITS, PROTOCOL_NAMES

Newest = Callable[[], Any]
"""Returns the newest event of a group, None when it is gone."""
NameOf = Callable[[Any, Newest], str]
"""Returns what people call a key."""
_NAMED: Final = ("source", "destination", "user", "policy")
"""What flows themselves tell the names of."""


NARROWED: Final = 100
"""Added to the family of all events: that of the few that are asked for most."""


class Family(NamedTuple):
    """The sums of one group; the number is stored with them, and never given to another.

    `filter` is the one that equals a key; keys may be whole numbers.
    """

    number: int
    filter: str = ""
    whole: bool = False


@dataclass(frozen=True)
class RollUps:
    """What is summed up of a stream by hour and day, and what that can answer.

    `families` are by group. `sums` holds an expression for each column of sums, `metrics`
    makes the aggregates of them. What `narrowing`, a filter with its value, keeps has
    families of its own; `narrow` is the same condition.
    """

    stream: Stream
    model: type[RollUp]
    groups: Mapping[str, Any]
    families: Mapping[str, Family]
    sums: Mapping[str, Any]
    metrics: Mapping[str, Callable[[], Any]]
    narrowing: tuple[str, Any]
    narrow: Q

    @property
    def filters(self) -> dict[str, str]:
        """By group the filter that equals a key, if there is one."""
        return {name: own.filter for name, own in self.families.items() if own.filter}

    def answer(self, group: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the fields of the rows that hold the answer; None where none do.

        `asked` holds the filters in use, dates aside.
        """
        family, rest = self.families.get(group), dict(asked)
        if family is None:
            return None
        number = family.number
        name, value = self.narrowing
        if name in rest and rest[name] == value:
            del rest[name]
            number += NARROWED
        own = rest.pop(family.filter, None)
        if rest:
            return None
        return {"family": number, **({} if own is None else {"key": str(own)})}


@dataclass(frozen=True)
class Subject:
    """A stream as summaries see it.

    `groups` holds an expression for each name to group by, `metrics` makes the
    aggregates; the first of each is the default. `names` tells what people call a key.
    `indexed` makes of keys a condition that an index serves, where equality is none.
    """

    model: type[Model]
    time_field: str
    groups: Mapping[str, Any]
    metrics: Mapping[str, Callable[[], Any]]
    names: Mapping[str, NameOf]
    words: Mapping[str, tuple[str, ...]]
    indexed: Mapping[str, Callable[[list[Any]], Q]] = field(default_factory=dict)
    roll_ups: RollUps | None = None

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


def _is_end(side: str) -> Callable[[list[Any]], Q]:
    """Return a function that tells which events have one of some keys as that end."""

    def condition(keys: list[Any]) -> Q:
        nameless = Q(**{f"{side}_id": "", f"{side}_address__in": keys})
        return Q(**{f"{side}_id__in": keys}) | nameless

    return condition


def _told(tell: Callable[[Any], Any]) -> NameOf:
    """Return a function that reads the name out of the newest event."""

    def name(key: Any, newest: Newest) -> str:
        event = newest()
        return "" if event is None else str(tell(event) or "")

    return name


def _in_content(field: str) -> NameOf:
    return _told(
        lambda event: event.content[field]["name"] or event.content[field].get("email")
    )


def _first_name(facts: Iterable[PeerFacts | UserFacts]) -> str:
    return next((each.name for each in facts), "")


SUCCESS: Final = Q(status_code__gte=200, status_code__lt=400)
# TCP and UDP have no status (0), which tells nothing of success.
_FAILURE: Final = ~SUCCESS & ~Q(status_code=0)

_TRAFFIC_GROUPS: Final = {
    "source": _end("source"),
    "destination": _end("destination"),
    "user": F("user_id"),
    "policy": F("policy_id"),
    "protocol": F("protocol"),
    "reporter": F("reporter_id"),
    "direction": F("direction"),
    "connection_type": F("connection_type"),
}

_PROXY_GROUPS: Final = {
    "host": F("host"),
    "path": F("path"),
    "method": F("method"),
    "status": Case(
        When(SUCCESS, then=Value("success")),
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
}

_TRAFFIC_METRICS: Final = {
    "bytes": lambda: Total("rx_bytes", "tx_bytes"),
    "flows": lambda: Total("flows"),
    "drops": lambda: Total("drops"),
}

TRAFFIC_ROLL_UPS: Final = RollUps(
    stream=TRAFFIC,
    model=TrafficRollUp,
    groups=_TRAFFIC_GROUPS,
    families={
        "source": Family(1, "source"),
        "destination": Family(2, "destination"),
        "user": Family(3, "user_id"),
        "policy": Family(4, "policy_id"),
        "protocol": Family(5, "protocol", whole=True),
        "reporter": Family(6, "reporter_id"),
        "direction": Family(7, "direction", whole=True),
        "connection_type": Family(8, "connection_type", whole=True),
    },
    sums={name: F(name) for name in ("rx_bytes", "tx_bytes", "flows", "drops")},
    metrics=_TRAFFIC_METRICS,
    narrowing=("type", KIND_BITS["TYPE_DROP"]),
    narrow=Q(kinds__gte=KIND_BITS["TYPE_DROP"]),  # the highest bit
)

PROXY_ROLL_UPS: Final = RollUps(
    stream=PROXY,
    model=ProxyRollUp,
    groups=_PROXY_GROUPS,
    # No paths: there may be as many as there are entries.
    families={
        "host": Family(1, "host"),
        "method": Family(2),
        "status": Family(3),
        "status_code": Family(4, "status_code", whole=True),
        "source_ip": Family(5, "source_ip"),
        "user": Family(6, "user_id"),
        "service": Family(7, "service_id"),
        "auth_method": Family(8, "auth_method"),
        "reason": Family(9, "reason"),
        "country": Family(10, "country_code"),
    },
    sums={
        "bytes_upload": F("bytes_upload"),
        "bytes_download": F("bytes_download"),
        "failures": Case(
            When(_FAILURE, then=1), default=0, output_field=IntegerField()
        ),
    },
    metrics={
        "requests": lambda: Total("events"),
        "bytes": lambda: Total("bytes_upload", "bytes_download"),
        "failures": lambda: Total("failures"),
    },
    narrowing=("status", False),
    narrow=~SUCCESS,
)

TRAFFIC_SUBJECT: Final = Subject(
    model=TrafficEvent,
    time_field="time",
    groups=_TRAFFIC_GROUPS,
    metrics=_TRAFFIC_METRICS,
    names={
        **{field: _in_content(field) for field in _NAMED},
        "protocol": lambda key, _: PROTOCOL_NAMES.get(key, ""),
        "reporter": lambda key, _: _first_name(directory.peers.only({key}, ())),
    },
    words={"direction": DIRECTIONS, "connection_type": CONNECTIONS},
    indexed={side: _is_end(side) for side in ("source", "destination")},
    roll_ups=TRAFFIC_ROLL_UPS,
)

PROXY_SUBJECT: Final = Subject(
    model=ProxyEntry,
    time_field="timestamp",
    groups=_PROXY_GROUPS,
    metrics={
        "requests": lambda: Count("pk"),
        "bytes": lambda: Total("bytes_upload", "bytes_download"),
        "failures": lambda: Count("pk", filter=_FAILURE),
    },
    names={"user": lambda key, _: _first_name(directory.users.only({key}))},
    words={},
    roll_ups=PROXY_ROLL_UPS,
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
    names={
        "activity": lambda key, _: LABELS.get(key, ""),
        "initiator": _told(lambda event: event.initiator_name or event.initiator_email),
        "target": _told(
            lambda event: event.meta.get("name") or event.meta.get("new_name")
        ),
    },
    words={},
)

ROLL_UPS: Final = {
    each.stream.name: each for each in (TRAFFIC_ROLL_UPS, PROXY_ROLL_UPS)
}
