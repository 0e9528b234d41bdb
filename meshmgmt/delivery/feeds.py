"""What is to be sent next: events of a stream in the order of their commits.

Audit ids and the arrival numbers of the other streams grow in that order, so whoever
follows them misses nothing, however late an event arrives.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

import orjson
from django.db.models import Max, Model, Q, QuerySet
from django.http import QueryDict

from events.api.audit import AuditFilterSet
from events.api.filters import ProxyFilterSet, StreamFilterSet, TrafficFilterSet
from events.api.queries import faults_of
from events.audit.rows import DETAIL_COLUMNS, detail_rows
from events.keyset import Place
from events.models import AuditEvent
from events.streams import citus
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from meshmgmt.core import clock
from meshmgmt.core.errors import FieldError
from meshmgmt.core.ids import new_id
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import MAX_BYTES

NO_REPLAY: Final = dict.fromkeys(("replay_from", "replay_until", "replay_after"))
"""The columns of a subscription that sends nothing again."""
_READ: Final = 20
"""Rows at once: a batch takes few large ones."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it is sent: JSON in `body`; `name` says what kind it is."""

    id: str
    position: int
    time: datetime
    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What to send, and what the state is once that is received."""

    events: list[Event]
    after: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Feed:
    """How one stream is read; `position` is the column that grows with the commits.

    `settled` gives the condition that nothing earlier can still come to sight.
    """

    name: str
    model: type[Model]
    filterset: type[StreamFilterSet]
    position: str
    columns: tuple[str, ...]
    events: Callable[[str, Iterable[tuple[Any, ...]]], Generator[Event]]
    settled: Callable[[], Q] = Q

    def all(self) -> QuerySet[Any]:
        """Return all events of the stream."""
        return self.model._default_manager.order_by()

    def head(self, *among: Q) -> int:
        """Return the position of the event committed last, 0 for none."""
        rows = self.all().filter(*among)
        return rows.aggregate(last=Max(self.position))["last"] or 0

    def matching(self, filters: dict[str, Any]) -> QuerySet[Any]:
        """Return the events that filters, which are right, let through."""
        found: QuerySet[Any] = self.filterset(_query(filters), self.all()).qs
        return found

    def read(self, rows: QuerySet[Any], limit: int) -> tuple[list[Event], bool]:
        """Return the first events that a batch can take, and whether there are no more."""
        found = rows.values_list(*self.columns)[:limit]
        events: list[Event] = []
        size = 0
        # In a transaction: cursors of PostgreSQL live in one, behind a pooler too.
        read = self.events(self.name, found.iterator(chunk_size=_READ))
        with read_snapshot(), closing(read):
            for event in read:
                size += len(event.body)
                # An event that is larger than a batch goes alone.
                if events and size > MAX_BYTES:
                    return events, False
                events.append(event)
        return events, len(events) < limit


def _audit_events(stream: str, found: Iterable[tuple[Any, ...]]) -> Generator[Event]:
    for values in found:
        number, moment, code = values[:3]
        [row] = detail_rows([values])
        yield Event(str(number), number, moment, code, orjson.dumps(row))


def _stored_events(stream: str, found: Iterable[tuple[Any, ...]]) -> Generator[Event]:
    for identifier, position, moment, body in found:
        # None: it came before arrivals were counted, so it follows no cursor.
        yield Event(identifier, position or 0, moment, stream, body.encode())


def _feed(stream: Stream, filterset: type[StreamFilterSet], name: str) -> Feed:
    columns = ("id", "arrival", stream.time_field, "body")
    settled = partial(citus.settled, stream)
    return Feed(
        name, stream.model, filterset, "arrival", columns, _stored_events, settled
    )


FEEDS: Final = {
    feed.name: feed
    for feed in (
        Feed("audit", AuditEvent, AuditFilterSet, "id", DETAIL_COLUMNS, _audit_events),
        _feed(TRAFFIC, TrafficFilterSet, "network-traffic"),
        _feed(PROXY, ProxyFilterSet, "proxy"),
    )
}
"""By the name that subscriptions have for a stream."""


def filter_errors(stream: str, filters: dict[str, Any]) -> Iterator[FieldError]:
    """Yield what the list of the stream would refuse, and what it would cut short."""
    feed = FEEDS[stream]
    chosen = feed.filterset(_query(filters), feed.all())
    for name in sorted(filters.keys() - chosen.form.fields.keys()):
        yield FieldError(
            f"filters.{name}", f"{name} is no filter of the stream {stream}"
        )
    faults = faults_of(chosen.form)
    for name, texts in faults.items():
        yield from (FieldError(f"filters.{name}", f"{name}: {text}") for text in texts)
    if not faults and chosen.short_search:
        text = (
            "the search is too short: lists look for that in their newest events alone"
        )
        yield FieldError("filters.search", text)


def sample() -> Event:
    """Return an event that tells nothing, for trying out."""
    now = clock.now()
    identifier = f"test-{new_id()}"
    stamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    body = orjson.dumps({"id": identifier, "timestamp": stamp, "test": True})
    return Event(identifier, 0, now, "test", body)


def newest(subscription: Subscription) -> list[Event]:
    """Return the newest event that the filters let through, alone; none without one."""
    feed = FEEDS[subscription.stream]
    # Those from before arrivals were counted are old, and PostgreSQL sorts NULL first.
    rows = feed.matching(subscription.filters).filter(
        **{f"{feed.position}__isnull": False}
    )
    events, _ = feed.read(rows.order_by(f"-{feed.position}"), 1)
    return events


def following(subscription: Subscription) -> Batch:
    """Return what comes after the cursor."""
    feed = FEEDS[subscription.stream]
    settled = feed.settled()  # before the snapshot, which then has all that is
    with read_snapshot():
        head = feed.head(settled)
        rows = feed.matching(subscription.filters).filter(
            settled, **{f"{feed.position}__gt": subscription.cursor}
        )
        limit = subscription.batch_limit
        events, whole = feed.read(rows.order_by(feed.position), limit)
    # All up to the head was looked at: what the filters left out is passed over.
    cursor = max(head, subscription.cursor) if whole else events[-1].position
    return Batch(events, {"cursor": cursor})


def replayed(subscription: Subscription) -> Batch:
    """Return what comes next of the times to be sent again, by time."""
    feed = FEEDS[subscription.stream]
    time = feed.filterset.subject.time_field
    times = (subscription.replay_from, subscription.replay_until)
    rows = feed.matching(subscription.filters).filter(**{f"{time}__range": times})
    if subscription.replay_after:
        moment, identifier = subscription.replay_after
        place = Place(datetime.fromisoformat(moment), identifier, newer=True)
        rows = rows.filter(place.beyond(time))
    events, whole = feed.read(rows.order_by(time, "id"), subscription.batch_limit)
    if whole:
        return Batch(events, NO_REPLAY)
    last = events[-1]
    return Batch(events, {"replay_after": [last.time.isoformat(), last.id]})


def waiting_since(subscription: Subscription) -> datetime | None:
    """Return the time of the oldest event that is not sent or passed over yet."""
    feed = FEEDS[subscription.stream]
    rows = feed.all().filter(**{f"{feed.position}__gt": subscription.cursor})
    times = rows.order_by(feed.position)
    return times.values_list(feed.filterset.subject.time_field, flat=True).first()


def _query(filters: dict[str, Any]) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, value in filters.items():
        query.setlist(name, value if isinstance(value, list) else [value])
    return query
