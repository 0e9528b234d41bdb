"""A network traffic event: checked at arrival, rendered once, stored as a row."""

from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from events.streams import checks
from events.streams.checks import ID_LIMIT, Event
from events.streams.faults import BAD_TYPE, EventFault
from events.streams.instants import render_instant
from events.streams.search import search_text

DIRECTIONS: Final = ("DIRECTION_UNKNOWN", "INGRESS", "EGRESS")
TYPES: Final = ("TYPE_UNKNOWN", "TYPE_START", "TYPE_END", "TYPE_DROP")
CONNECTIONS: Final = ("P2P", "ROUTED")
ENDPOINT_TYPES: Final = (
    "UNKNOWN",
    "PEER",
    "HOST_RESOURCE",
    "SUBNET_RESOURCE",
    "DOMAIN_RESOURCE",
)
RESOURCE_TYPES: Final = frozenset(ENDPOINT_TYPES[2:])
KIND_BITS: Final = {kind: 1 << number for number, kind in enumerate(TYPES)}
COUNTERS: Final = (
    "rx_bytes",
    "rx_packets",
    "tx_bytes",
    "tx_packets",
    "num_of_starts",
    "num_of_ends",
    "num_of_drops",
)
MAX_PROTOCOL: Final = 255
MAX_INNER_EVENTS: Final = 1000


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
    """An event that passed the checks; `content` has every field of the contract.

    `timed` is False when the reporter gave no time at all.
    """

    time: datetime
    content: Event
    kinds: int
    timed: bool


def check(event: Any, received: datetime) -> CheckedTraffic:
    """Return the event in the contract's shape. Raises EventFault.

    `received` stands in for times the reporter leaves out (decisions: Events).
    """
    if type(event) is not dict:
        raise EventFault("", "must be an object", BAD_TYPE)
    checks.instant(event, "receive_timestamp")  # ours counts, theirs must be one
    inner, kinds, newest = _inner_events(event, received)
    start = checks.instant(event, "window_start")
    if start:
        checks.require_plausible(start, received, "window_start")
    end = checks.instant(event, "window_end")
    time = end or newest or received
    if start and start > time:
        raise EventFault("window_start", "is after the end of the window")
    counters = {name: checks.whole(event, name) for name in COUNTERS}
    icmp = checks.thing(event, "icmp")
    user = checks.thing(event, "user")
    policy = checks.thing(event, "policy")
    content = {
        "id": checks.text(event, "id", ID_LIMIT),
        "flow_id": checks.text(event, "flow_id", ID_LIMIT),
        "reporter_id": checks.required_text(event, "reporter_id", ID_LIMIT),
        "receive_timestamp": render_instant(received),
        "source": _endpoint(event, "source"),
        "destination": _endpoint(event, "destination"),
        "user": {
            "id": checks.text(user, "id", ID_LIMIT, "user."),
            "email": checks.text(user, "email", prefix="user."),
            "name": checks.text(user, "name", prefix="user."),
        },
        "policy": {
            "id": checks.text(policy, "id", ID_LIMIT, "policy."),
            "name": checks.text(policy, "name", prefix="policy."),
        },
        "icmp": {
            "type": checks.whole(icmp, "type", 255, prefix="icmp."),
            "code": checks.whole(icmp, "code", 255, prefix="icmp."),
        },
        "protocol": checks.whole(event, "protocol", MAX_PROTOCOL),
        "direction": checks.choice(event, "direction", DIRECTIONS, DIRECTIONS[0]),
        "connection_type": checks.choice(event, "connection_type", CONNECTIONS, ""),
        **counters,
        "window_start": render_instant(start or time),
        "window_end": render_instant(time),
        "events": inner,
    }
    return CheckedTraffic(
        time=time,
        content=content,
        kinds=kinds | _counted_kinds(counters, kinds),
        timed=bool(end or newest),
    )


def _inner_events(
    event: Event, received: datetime
) -> tuple[list[Event], int, datetime | None]:
    """Return the flow's own events, the bits of their types, and the newest time."""
    inner: list[Event] = []
    kinds = 0
    newest = None
    for number, item in enumerate(checks.items(event, "events", MAX_INNER_EVENTS)):
        prefix = f"events[{number}]."
        if type(item) is not dict:
            raise EventFault(prefix[:-1], "must be an object", BAD_TYPE)
        kind = checks.choice(item, "type", TYPES, TYPES[0], prefix)
        moment = checks.instant(item, "timestamp", prefix)
        if moment is None:
            raise EventFault(f"{prefix}timestamp", "is required")
        checks.require_plausible(moment, received, f"{prefix}timestamp")
        kinds |= KIND_BITS[kind]
        newest = moment if newest is None or moment > newest else newest
        inner.append({"type": kind, "timestamp": render_instant(moment)})
    return inner, kinds, newest


def _counted_kinds(counters: dict[str, int], listed: int) -> int:
    """Return the bits of the types that an aggregate's counters stand for."""
    bits = 0
    if counters["num_of_starts"]:
        bits |= KIND_BITS["TYPE_START"]
    if counters["num_of_ends"]:
        bits |= KIND_BITS["TYPE_END"]
    if counters["num_of_drops"]:
        bits |= KIND_BITS["TYPE_DROP"]
    return bits or (0 if listed else KIND_BITS["TYPE_UNKNOWN"])


def _endpoint(event: Event, name: str) -> Event:
    if event.get(name) is None:
        raise EventFault(name, "is required")
    end = checks.thing(event, name)
    prefix = f"{name}."
    place = end.get("geo_location")
    if place is not None and type(place) is not dict:
        raise EventFault(f"{prefix}geo_location", "must be an object", BAD_TYPE)
    place = place or {}
    identifier = checks.text(end, "id", ID_LIMIT, prefix)
    address = checks.text(end, "address", prefix=prefix)
    if not identifier and not address:
        raise EventFault(name, "needs an id or an address")
    return {
        "id": identifier,
        "type": checks.choice(end, "type", ENDPOINT_TYPES, "UNKNOWN", prefix),
        "name": checks.text(end, "name", prefix=prefix),
        "geo_location": {
            "city_name": checks.text(
                place, "city_name", prefix=f"{prefix}geo_location."
            ),
            "country_code": checks.text(
                place, "country_code", prefix=f"{prefix}geo_location."
            ),
        },
        "os": checks.text(end, "os", prefix=prefix) or None,
        "address": address,
        "dns_label": checks.text(end, "dns_label", prefix=prefix) or None,
    }


def row(event: CheckedTraffic) -> TrafficRow:
    """Return the row to store for an event that is checked and enriched."""
    content = event.content
    source = content["source"]
    destination = content["destination"]
    user = content["user"]
    return TrafficRow(
        time=event.time,
        id=content["id"],
        reporter_id=content["reporter_id"],
        user_id=user["id"],
        source_id=source["id"],
        destination_id=destination["id"],
        policy_id=content["policy"]["id"],
        source_address=checks.host_of(source["address"]) or source["address"],
        destination_address=checks.host_of(destination["address"])
        or destination["address"],
        protocol=content["protocol"],
        direction=DIRECTIONS.index(content["direction"]),
        connection_type=CONNECTIONS.index(content["connection_type"]),
        kinds=event.kinds,
        rx_bytes=content["rx_bytes"],
        tx_bytes=content["tx_bytes"],
        flows=content["num_of_starts"] or 1,
        drops=content["num_of_drops"] or _listed_drops(content),
        search=search_text(
            (
                user["email"],
                source["name"],
                source["address"],
                destination["name"],
                destination["address"],
            )
        ),
        body=orjson.dumps(content).decode(),
    )


def _listed_drops(content: Event) -> int:
    """Return how many drops the flow's own events tell of."""
    return sum(event["type"] == "TYPE_DROP" for event in content["events"])


def tally_key(stored: TrafficRow) -> tuple[int, ...]:
    """Return the values of the columns that `TrafficTally` counts by."""
    return (
        stored.protocol,
        stored.direction,
        stored.connection_type,
        stored.kinds,
    )
