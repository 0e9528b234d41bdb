"""A network traffic event: checked at arrival, rendered once, stored as a row."""

from datetime import datetime
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from events.instants import render_instant
from events.search import search_text
from events.streams.faults import EventFault, choice, instant, require_plausible
from events.vocabulary import (
    CONNECTIONS,
    DIRECTIONS,
    ENDPOINT_TYPES,
    ID_LIMIT,
    KIND_BITS,
    MAX_COUNTER,
    MAX_INNER_EVENTS,
    NAME_LIMIT,
    TYPES,
)
from meshmgmt.core.addresses import host_of

Id = Annotated[str, Meta(max_length=ID_LIMIT)]
Name = Annotated[str, Meta(max_length=NAME_LIMIT)]
Counter = Annotated[int, Meta(ge=0, le=MAX_COUNTER)]
Octet = Annotated[int, Meta(ge=0, le=255)]
Moment = Annotated[str, Meta(description="RFC 3339")]
# Spelt in any case when they are sent, so words are checked by hand.
EndpointType = Annotated[str, Meta(extra_json_schema={"enum": ENDPOINT_TYPES})]
FlowType = Annotated[str, Meta(extra_json_schema={"enum": TYPES})]
Direction = Annotated[str, Meta(extra_json_schema={"enum": DIRECTIONS})]
Connection = Annotated[str, Meta(extra_json_schema={"enum": CONNECTIONS})]


class GeoLocation(Struct, gc=False):
    """Where an address is; empty where unknown."""

    city_name: Name = ""
    country_code: Name = ""


class Endpoint(Struct, gc=False):
    """One end of a flow; it has an id or an address."""

    id: Id = ""
    type: EndpointType = ""
    name: Name = ""
    address: Annotated[Name, Meta(description="May end in a port")] = ""
    dns_label: Name | None = None
    os: Name | None = None
    geo_location: GeoLocation = field(default_factory=GeoLocation)


class TrafficUser(Struct, gc=False):
    """The user of a flow; empty where unknown."""

    id: Id = ""
    email: Name = ""
    name: Name = ""


class TrafficPolicy(Struct, gc=False):
    """The policy that let a flow pass or dropped it."""

    id: Id = ""
    name: Name = ""


class Icmp(Struct, gc=False):
    """ICMP type and code; zeros for other protocols."""

    type: Octet = 0
    code: Octet = 0


class FlowEvent(Struct, kw_only=True, gc=False):
    """Start, end or drop inside a flow."""

    type: FlowType = ""
    timestamp: Moment


class Traffic(Struct, kw_only=True, gc=False):
    """An event as reporters send it; once checked, as clients get it.

    Columns of an export keep this order, so new ones come last.
    """

    id: Id = ""
    flow_id: Id = ""
    reporter_id: Annotated[str, Meta(min_length=1, max_length=ID_LIMIT)]
    receive_timestamp: Moment = ""
    window_start: Moment = ""
    window_end: Moment = ""
    source: Endpoint
    destination: Endpoint
    user: TrafficUser = field(default_factory=TrafficUser)
    policy: TrafficPolicy = field(default_factory=TrafficPolicy)
    protocol: Octet = 0
    icmp: Icmp = field(default_factory=Icmp)
    direction: Direction = ""
    connection_type: Connection = ""
    rx_bytes: Counter = 0
    rx_packets: Counter = 0
    tx_bytes: Counter = 0
    tx_packets: Counter = 0
    num_of_starts: Counter = 0
    num_of_ends: Counter = 0
    num_of_drops: Counter = 0
    events: Annotated[list[FlowEvent], Meta(max_length=MAX_INNER_EVENTS)] = []


class TrafficRow(NamedTuple):
    """One row as it is stored; `body` is the JSON text clients get."""

    time: datetime
    id: str
    reporter_id: str
    user_id: str
    source_id: str
    destination_id: str
    policy_id: str
    source_address: str
    destination_address: str
    protocol: int
    direction: int
    connection_type: int
    kinds: int
    rx_bytes: int
    tx_bytes: int
    flows: int
    drops: int
    search: str
    body: str


class CheckedTraffic(NamedTuple):
    """An event that passed the checks.

    `kinds` are bits of its types; `timed` is False when the reporter gave no time at all.
    """

    time: datetime
    content: Traffic
    kinds: int
    timed: bool


def check(event: Traffic, received: datetime) -> CheckedTraffic:
    """Bring the event into the contract's shape, in place. Raises EventFault.

    `received` stands in for times the reporter leaves out.
    """
    instant(event.receive_timestamp, "receive_timestamp")  # ours is what counts
    kinds, newest = _check_inner(event, received)
    start = instant(event.window_start, "window_start")
    end = instant(event.window_end, "window_end")
    time = end or newest or received
    if start:
        require_plausible(start, received, "window_start")
        if start > time:
            raise EventFault("window_start", "is after the end of the window")
    event.receive_timestamp = render_instant(received)
    event.window_start = render_instant(start or time)
    event.window_end = render_instant(time)
    event.direction = choice(event.direction, DIRECTIONS, "direction")
    if event.connection_type:
        event.connection_type = choice(
            event.connection_type, CONNECTIONS, "connection_type"
        )
    _check_end(event.source, "source")
    _check_end(event.destination, "destination")
    return CheckedTraffic(
        time, event, kinds | _counted_kinds(event, kinds), timed=bool(end or newest)
    )


def _check_inner(event: Traffic, received: datetime) -> tuple[int, datetime | None]:
    """Return the bits of the types of a flow's own events, and their newest time."""
    kinds = 0
    newest = None
    for number, item in enumerate(event.events):
        place = f"events[{number}]"
        item.type = choice(item.type, TYPES, f"{place}.type")
        moment = instant(item.timestamp, f"{place}.timestamp")
        if moment is None:
            raise EventFault(f"{place}.timestamp", "is required")
        require_plausible(moment, received, f"{place}.timestamp")
        item.timestamp = render_instant(moment)
        kinds |= KIND_BITS[item.type]
        newest = moment if newest is None or moment > newest else newest
    return kinds, newest


def _counted_kinds(event: Traffic, listed: int) -> int:
    bits = 0
    if event.num_of_starts:
        bits |= KIND_BITS["TYPE_START"]
    if event.num_of_ends:
        bits |= KIND_BITS["TYPE_END"]
    if event.num_of_drops:
        bits |= KIND_BITS["TYPE_DROP"]
    return bits or (0 if listed else KIND_BITS["TYPE_UNKNOWN"])


def _check_end(end: Endpoint, name: str) -> None:
    if not end.id and not end.address:
        raise EventFault(name, "needs an id or an address")
    end.type = choice(end.type, ENDPOINT_TYPES, f"{name}.type")
    end.os = end.os or None
    end.dns_label = end.dns_label or None


def row(event: CheckedTraffic) -> TrafficRow:
    """Return the row to store for an event that is checked and enriched."""
    content = event.content
    source, destination = content.source, content.destination
    return TrafficRow(
        time=event.time,
        id=content.id,
        reporter_id=content.reporter_id,
        user_id=content.user.id,
        source_id=source.id,
        destination_id=destination.id,
        policy_id=content.policy.id,
        source_address=host_of(source.address) or source.address,
        destination_address=host_of(destination.address) or destination.address,
        protocol=content.protocol,
        direction=DIRECTIONS.index(content.direction),
        connection_type=CONNECTIONS.index(content.connection_type),
        kinds=event.kinds,
        rx_bytes=content.rx_bytes,
        tx_bytes=content.tx_bytes,
        # A report that counts no beginning still tells of a flow.
        flows=content.num_of_starts or 1,
        drops=content.num_of_drops or _listed_drops(content),
        # Addresses with their ports: people paste what a log shows.
        search=search_text(
            (
                content.user.email,
                source.name,
                source.address,
                destination.name,
                destination.address,
            )
        ),
        body=msgspec.json.encode(content).decode(),
    )


def _listed_drops(content: Traffic) -> int:
    return sum(event.type == "TYPE_DROP" for event in content.events)


def tally_key(stored: TrafficRow) -> tuple[int, ...]:
    """Return the values of the columns that `TrafficTally` counts by."""
    return (stored.protocol, stored.direction, stored.connection_type, stored.kinds)
