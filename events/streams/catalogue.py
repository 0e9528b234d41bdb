"""The two streams side by side: what ingest, pages and retention need to know of each."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import models

from events.models import ProxyEntry, ProxyTally, TrafficEvent, TrafficTally
from events.streams import enrichment, proxy, traffic

# Binary COPY converts nothing: a number must be sent as wide as its column is.
_PG_TYPES: Final = {
    "TextField": "text",
    "DateTimeField": "timestamptz",
    "SmallIntegerField": "int2",
    "IntegerField": "int4",
    "BigIntegerField": "int8",
}


@dataclass(frozen=True)
class Stream:
    """One stream of events.

    `kind` is an event as it is sent, `sent_time` its field that tells the time. `check`
    turns it into a checked event (a tuple with `time` and `content`),
    `wanted` leaves out what the account does not keep, `enrich` completes a batch, `row`
    renders one for storage, and `tally` gives the key under which a stored row is counted.
    """

    name: str
    lock_key: int
    """Of the advisory lock that a batch holds from before it looks to its commit."""
    model: type[models.Model]
    tally_model: type[models.Model]
    time_field: str
    columns: tuple[str, ...]
    """Their names, in the order of the row tuples."""
    kind: type[msgspec.Struct]
    sent_time: str
    check: Callable[..., Any]
    enrich: Callable[[list[Any]], list[Any]]
    row: Callable[[Any], Any]
    tally_fields: tuple[str, ...]
    tally: Callable[[Any], tuple[Any, ...]]
    wanted: Callable[[list[Any]], list[Any]] = lambda events: events

    @property
    def table(self) -> str:
        return self.model._meta.db_table

    @property
    def arrivals(self) -> str:
        """Name of the sequence that numbers the events on PostgreSQL."""
        return f"{self.name}_arrival_n"

    @cached_property
    def pg_types(self) -> list[str]:
        """PostgreSQL type of each column, for binary COPY."""
        get = self.model._meta.get_field
        return [_PG_TYPES[get(name).get_internal_type()] for name in self.columns]

    @property
    def retention(self) -> timedelta | None:
        """How long events are kept, None for ever."""
        days: int | None = getattr(settings.SVC, f"{self.name}_retention_days")
        return None if days is None else timedelta(days=days)


TRAFFIC: Final = Stream(
    name="traffic",
    lock_key=0x65767472,
    model=TrafficEvent,
    tally_model=TrafficTally,
    time_field="time",
    columns=traffic.TrafficRow._fields,
    kind=traffic.Traffic,
    sent_time="window_end",
    check=traffic.check,
    enrich=enrichment.enrich_traffic,
    wanted=enrichment.wanted_traffic,
    row=traffic.row,
    tally_fields=("protocol", "direction", "connection_type", "kinds"),
    tally=traffic.tally_key,
)

PROXY: Final = Stream(
    name="proxy",
    lock_key=0x65767078,
    model=ProxyEntry,
    tally_model=ProxyTally,
    time_field="timestamp",
    columns=proxy.ProxyRow._fields,
    kind=proxy.Entry,
    sent_time="timestamp",
    check=proxy.check,
    enrich=enrichment.enrich_proxy,
    row=proxy.row,
    tally_fields=("method", "status_code"),
    tally=proxy.tally_key,
)

STREAMS: Final = {stream.name: stream for stream in (TRAFFIC, PROXY)}
