"""The demo company's traffic and proxy logs of the last days, sent as reporters do."""

import datetime as dt
import ipaddress
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.access.rules.networks import parse_address
from meshmgmt.core import clock
from meshmgmt.demo.people import DOMAIN
from meshmgmt.inventory.models import NetworkResource, Peer, ResourceType
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.meshstate.loading import load

DAYS: Final = 6.5  # within the usual retention, and the week that the history covers
FLOWS: Final = 1600
VISITS: Final = 800
GUESSES: Final = 180
"""Wrong passwords of one address against one service, within an hour."""

REFUSED: Final = 24
"""Attempts of one machine to reach a database that no policy gives it, within hours."""

SERVICES: Final = ("wiki", "git", "tickets", "grafana", "registry")
REFUSED_SOURCE: Final = "rui-simulator"
DATABASE: Final = "db-01"
DATABASE_PORT: Final = 5432
SHARE_DROPPED: Final = 0.04
SAME: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""What events of a kind have in common."""

COMMON_PORTS: Final = (22, 53, 443, 443, 443, 5432)
"""What is used where a policy names no ports."""

BEHIND_NAMES: Final = ipaddress.IPv4Network("10.31.9.0/28")
"""Where the domains of resources lead."""

NUMBERS: Final = {"tcp": 6, "udp": 17}
TRIES: Final = 100
"""A policy may allow everything; then there is nothing to refuse."""

Target = Peer | NetworkResource


def fill_streams(chance: random.Random) -> None:
    """Store both streams; flows name their ends by id, the rest is looked up."""
    now = clock.now()
    flows = [*_flows(chance, now), *_refused(chance, now)]
    batches.ingest_events(TRAFFIC, flows)
    batches.ingest_events(PROXY, [*_visits(chance, now), *_guesses(chance, now)])


def _moment(
    chance: random.Random, now: dt.datetime, *since: dt.datetime
) -> dt.datetime:
    """Return a moment of the last days, in working hours more often than not.

    None before one of `since`.
    """
    span = min([dt.timedelta(days=_days_kept()), *(now - each for each in since)])
    moment = now - chance.random() * span
    quiet = not 7 <= moment.hour < 18  # noqa: PLR2004 - office hours
    again = quiet and chance.random() < 0.7  # noqa: PLR2004
    return _moment(chance, now, *since) if again else moment


def _days_kept() -> float:
    """Return how many days back events are taken; a run may last for a while."""
    kept = [stream.retention for stream in (TRAFFIC, PROXY) if stream.retention]
    return min([DAYS, *(0.9 * (time / dt.timedelta(days=1)) for time in kept)])


def _flows(chance: random.Random, now: dt.datetime) -> Iterator[dict[str, Any]]:
    """Traffic goes where policies allow it; what they do not is dropped."""
    permits = Permits()
    for number in range(FLOWS):
        refused = permits.refused(chance) if chance.random() < SHARE_DROPPED else None
        dropped = refused is not None
        talk = refused or permits.conversation(chance)
        start = _moment(chance, now, talk.source.created_at, talk.target.created_at)
        end = min(now, start + dt.timedelta(seconds=chance.randrange(1, 600)))
        address = address_of(talk.target, chance)
        yield {
            **SAME["flow"],
            "id": f"demo-flow-{number:05d}",
            "flow_id": f"{chance.getrandbits(64):016x}",
            "reporter_id": talk.source.pk,
            "source": {"id": talk.source.pk},
            "destination": {"id": talk.target.pk, "address": f"{address}:{talk.port}"},
            "policy": {"id": talk.policy_id} if talk.policy_id else None,
            "protocol": NUMBERS[protocol_at(talk.port)],
            "rx_bytes": 0 if dropped else int(chance.lognormvariate(10, 2)),
            "rx_packets": 0 if dropped else chance.randrange(1, 400),
            "tx_bytes": 60 if dropped else int(chance.lognormvariate(9, 2)),
            "tx_packets": 1 if dropped else chance.randrange(1, 400),
            "num_of_starts": 0 if dropped else 1,
            "num_of_ends": 0 if dropped else 1,
            "num_of_drops": chance.randrange(1, 30) if dropped else 0,
            "window_start": clock.rfc3339(start),
            "window_end": clock.rfc3339(end),
            "events": [
                {
                    "type": "TYPE_DROP" if dropped else "TYPE_START",
                    "timestamp": clock.rfc3339(start),
                }
            ],
        }


def _refused(chance: random.Random, now: dt.datetime) -> Iterator[dict[str, Any]]:
    """A simulator tries to write its results into a database, in vain."""
    source = Peer.objects.get(name=REFUSED_SOURCE)
    database = Peer.objects.get(name=DATABASE)
    begin = now - dt.timedelta(hours=7)
    for number in range(REFUSED):
        start = begin + dt.timedelta(minutes=15 * number + chance.random())
        end = start + dt.timedelta(seconds=3)
        attempts = chance.randrange(3, 8)
        yield {
            **SAME["refused"],
            "id": f"demo-refused-{number:05d}",
            "flow_id": f"{chance.getrandbits(64):016x}",
            "reporter_id": database.pk,
            "source": {"id": source.pk},
            "destination": {
                "id": database.pk,
                "address": f"{database.ip}:{DATABASE_PORT}",
            },
            "rx_bytes": 60 * attempts,
            "rx_packets": attempts,
            "num_of_drops": attempts,
            "window_start": clock.rfc3339(start),
            "window_end": clock.rfc3339(end),
            "events": [{"type": "TYPE_DROP", "timestamp": clock.rfc3339(start)}],
        }


def _visits(chance: random.Random, now: dt.datetime) -> Iterator[dict[str, Any]]:
    """People and their machines use the services."""
    peers = list(Peer.objects.exclude(user=None).order_by("id"))
    for number in range(VISITS):
        peer = chance.choice(peers)
        status = chance.choices((200, 304, 404, 500), (80, 12, 6, 2))[0]
        yield {
            **SAME["visit"],
            "id": f"demo-visit-{number:05d}",
            "timestamp": clock.rfc3339(_moment(chance, now)),
            "method": chance.choices(("GET", "POST", "PUT"), (85, 12, 3))[0],
            "host": f"{chance.choice(SERVICES)}.{DOMAIN}",
            "path": f"/{chance.choice(('page', 'issue', 'robot'))}/{chance.randrange(90)}",
            "duration_ms": int(chance.expovariate(1 / 40)),
            "status_code": status,
            "bytes_upload": chance.randrange(200, 4000),
            "bytes_download": chance.randrange(500, 200_000),
            "source_ip": peer.ip,
            "reason": "Request failed" if status >= 400 else "",  # noqa: PLR2004
            "user_id": peer.user_id,
        }


def _guesses(chance: random.Random, now: dt.datetime) -> Iterator[dict[str, Any]]:
    """Somebody on the internet tries passwords."""
    begin = now - dt.timedelta(hours=5)
    for number in range(GUESSES):
        moment = begin + dt.timedelta(seconds=20 * number + chance.random())
        yield {
            **SAME["guess"],
            "id": f"demo-guess-{number:05d}",
            "timestamp": clock.rfc3339(moment),
            "duration_ms": chance.randrange(5, 30),
        }


@dataclass(frozen=True, slots=True)
class Conversation:
    """A source, what it talks to, the port there, and the policy (id) that lets it."""

    source: Peer
    target: Target
    port: int
    policy_id: str


class Permits:
    """The rules in force that accept, with the peers and resources on both sides."""

    def __init__(self) -> None:
        mesh = self._mesh = Mesh(load(), clock.now().timestamp())
        self._peers = Peer.objects.in_bulk()
        self._resources = NetworkResource.objects.in_bulk()
        self._rules: list[tuple[str, tuple[int, ...], list[Peer], list[Target]]] = [
            (
                entry.policy_id,
                entry.rule.ports,
                [self._peers[pk] for pk in entry.sources.ordered],
                [
                    *(self._peers[pk] for pk in entry.destinations.ordered),
                    *(self._resources[one.id] for one in mesh.networks.behind(entry)),
                ],
            )
            for entry in mesh.policies.rules
            if entry.rule.accept
        ]

    def conversation(self, chance: random.Random) -> Conversation:
        """Return one that a policy allows, never of a peer with itself."""
        while True:
            policy_id, ports, sources, targets = chance.choice(self._rules)
            if not sources or not targets:
                continue
            source, target = chance.choice(sources), chance.choice(targets)
            port = chance.choice(ports or COMMON_PORTS)
            if source.pk != target.pk:
                return Conversation(source, target, port, policy_id)

    def refused(self, chance: random.Random) -> Conversation | None:
        """Return one between peers that no policy allows; None when it is hard to find."""
        peers = list(self._peers.values())
        for _ in range(TRIES):
            source, target = chance.sample(peers, 2)
            port = chance.choice(COMMON_PORTS)
            meant = Destination("peer", target.pk, target.ip)
            traffic = Traffic(protocol_at(port), port)
            if not verdict(self._mesh, source.pk, meant, traffic).allowed:
                return Conversation(source, target, port, "")
        return None


def protocol_at(port: int) -> str:
    """Return what is spoken at a port: DNS over UDP, all else over TCP."""
    return "udp" if port == 53 else "tcp"  # noqa: PLR2004 - the port of DNS


def address_of(target: Target, chance: random.Random) -> str:
    """Return an address behind the target; of a subnet, that of one of its hosts."""
    if isinstance(target, Peer):
        return target.ip
    is_name = target.type == ResourceType.DOMAIN
    text = parse_address(target.address).text
    network = BEHIND_NAMES if is_name else ipaddress.ip_network(text)
    if network.num_addresses == 1:
        return str(network.network_address)
    # The first names the network, the last is for broadcasts.
    return str(network[chance.randrange(1, network.num_addresses - 1)])
