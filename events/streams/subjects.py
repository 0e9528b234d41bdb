"""What the summaries can group each stream by, add up, and call it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

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
NARROWED: Final = 100
"""Added to the family of all events: that of the few that are asked for most."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """What events can be grouped by: the expression `key`, and what belongs to its keys.

    `filter` is the one that shows the rows of a key, these alone if it is `equal`.
    `family` is the number under which sums by it are stored, never given to another; 0:
    none are. Keys may be `whole` numbers, for which `words` stand in answers. `name` tells
    what people call a key. `among` makes of keys a condition that an index serves, where
    equality is none.
    """

    key: Any
    filter: str
    family: int = 0
    equal: bool = True
    whole: bool = False
    words: tuple[str, ...] = ()
    name: NameOf | None = None
    among: Callable[[list[Any]], Q] | None = None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A stream as summaries see it.

    `groups` are by name, `metrics` makes the aggregates; the first of each is the default.
    """

    model: type[Model]
    time_field: str
    groups: Mapping[str, Grouping]
    metrics: Mapping[str, Callable[[], Any]]

    @property
    def filters(self) -> dict[str, str]:
        """By group the filter that shows the rows of a key."""
        return {name: group.filter for name, group in self.groups.items()}

    @property
    def indexed(self) -> dict[str, Callable[[list[Any]], Q]]:
        """By group the condition that keys are among some, where equality is slow."""
        return {name: x.among for name, x in self.groups.items() if x.among}

    def shown(self, group: str, key: Any) -> str:
        words = self.groups[group].words
        return words[key] if words else str(key)

    def name_of(self, group: str, key: Any, newest: Newest) -> str:
        """Return what people call the key, "" when it has no name of its own."""
        name = self.groups[group].name
        return "" if name is None or key in ("", None) else name(key, newest)


@dataclass(frozen=True, kw_only=True)
class Summed(Subject):
    """A stream whose events are summed up by hour, day and week.

    `sums` holds an expression for each column of `sums_model`, `of_sums` makes the metrics
    of these columns. What `narrowing`, a filter with its value, keeps has families of its
    own; `narrow` is the same condition.
    """

    stream: Stream
    sums_model: type[RollUp]
    sums: Mapping[str, Any]
    of_sums: Mapping[str, Callable[[], Any]]
    narrowing: tuple[str, Any]
    narrow: Q

    @property
    def families(self) -> dict[str, int]:
        """By group the number of its sums, if there are any."""
        return {name: x.family for name, x in self.groups.items() if x.family}

    def answer(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the fields of the sums that hold the answer; None where none do.

        `asked` holds the filters in use, dates aside.
        """
        group, rest = self.groups[name], dict(asked)
        number = group.family
        if not number:
            return None
        narrowed, value = self.narrowing
        if narrowed in rest and rest[narrowed] == value:
            del rest[narrowed]
            number += NARROWED
        own = rest.pop(group.filter, None) if group.equal else None
        if rest:
            return None
        return {"family": number, **({} if own is None else {"key": str(own)})}


def _column(column: str, family: int = 0, *, asked: str = "", **more: Any) -> Grouping:
    """Return the grouping by a column, whose filter has its name or is `asked` so."""
    return Grouping(F(column), asked or column, family, **more)


def _end(side: str, family: int) -> Grouping:
    """Return the grouping by the id of an end, or by its address when it has none."""

    def among(keys: list[Any]) -> Q:
        nameless = Q(**{f"{side}_id": "", f"{side}_address__in": keys})
        return Q(**{f"{side}_id__in": keys}) | nameless

    empty = Value("", output_field=TextField())
    key = Coalesce(NullIf(f"{side}_id", empty), F(f"{side}_address"))
    return Grouping(key, side, family, name=_in_content(side), among=among)


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
_STATUS: Final = Case(
    When(SUCCESS, then=Value("success")),
    default=Value("failed"),
    output_field=TextField(),
)

_TRAFFIC_METRICS: Final = {
    "bytes": lambda: Total("rx_bytes", "tx_bytes"),
    "flows": lambda: Total("flows"),
    "drops": lambda: Total("drops"),
}

TRAFFIC_SUBJECT: Final = Summed(
    stream=TRAFFIC,
    model=TrafficEvent,
    time_field="time",
    groups={
        "source": _end("source", 1),
        "destination": _end("destination", 2),
        "user": _column("user_id", 3, name=_in_content("user")),
        "policy": _column("policy_id", 4, name=_in_content("policy")),
        "protocol": _column(
            "protocol", 5, whole=True, name=lambda key, _: PROTOCOL_NAMES.get(key, "")
        ),
        "reporter": _column(
            "reporter_id",
            6,
            name=lambda key, _: _first_name(directory.peers.only({key}, ())),
        ),
        "direction": _column("direction", 7, whole=True, words=DIRECTIONS),
        "connection_type": _column("connection_type", 8, whole=True, words=CONNECTIONS),
    },
    metrics=_TRAFFIC_METRICS,
    sums_model=TrafficRollUp,
    sums={name: F(name) for name in ("rx_bytes", "tx_bytes", "flows", "drops")},
    of_sums=_TRAFFIC_METRICS,
    narrowing=("type", KIND_BITS["TYPE_DROP"]),
    narrow=Q(kinds__gte=KIND_BITS["TYPE_DROP"]),  # the highest bit
)

PROXY_SUBJECT: Final = Summed(
    stream=PROXY,
    model=ProxyEntry,
    time_field="timestamp",
    groups={
        "host": _column("host", 1),
        # No sums by path: there may be as many as there are entries.
        "path": _column("path", asked="exact_path"),
        # The filter finds methods in small letters, too.
        "method": _column("method", 2, equal=False),
        "status": Grouping(_STATUS, "status", 3, equal=False),
        "status_code": _column("status_code", 4, whole=True),
        "source_ip": _column("source_ip", 5),
        "user": _column(
            "user_id", 6, name=lambda key, _: _first_name(directory.users.only({key}))
        ),
        "service": _column("service_id", 7),
        "auth_method": _column("auth_method_used", 8, asked="auth_method"),
        "reason": _column("reason", 9),
        "country": _column("country_code", 10),
    },
    metrics={
        "requests": lambda: Count("pk"),
        "bytes": lambda: Total("bytes_upload", "bytes_download"),
        "failures": lambda: Count("pk", filter=_FAILURE),
    },
    sums_model=ProxyRollUp,
    sums={
        "bytes_upload": F("bytes_upload"),
        "bytes_download": F("bytes_download"),
        "failures": Case(
            When(_FAILURE, then=1), default=0, output_field=IntegerField()
        ),
    },
    of_sums={
        "requests": lambda: Total("events"),
        "bytes": lambda: Total("bytes_upload", "bytes_download"),
        "failures": lambda: Total("failures"),
    },
    narrowing=("status", False),
    narrow=~SUCCESS,
)

AUDIT_SUBJECT: Final = Subject(
    model=AuditEvent,
    time_field="timestamp",
    groups={
        "activity": _column("activity_code", name=lambda key, _: LABELS.get(key, "")),
        "initiator": _column(
            "initiator_id",
            name=_told(lambda event: event.initiator_name or event.initiator_email),
        ),
        "target": _column(
            "target_id",
            name=_told(
                lambda event: event.meta.get("name") or event.meta.get("new_name")
            ),
        ),
        "target_type": _column("target_type"),
        "source_address": _column("source_address"),
    },
    metrics={"events": lambda: Count("pk")},
)

ROLL_UPS: Final = {each.stream.name: each for each in (TRAFFIC_SUBJECT, PROXY_SUBJECT)}
