"""The configuration of one peer and its JSON form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dns.effective.snapshot import Nameserver, Record
from meshmgmt.access.reach import Cause

# Guidance of the seed, "Limits": a larger network map may degrade performance.
NETWORK_MAP_GUIDANCE = 5000

_SENTENCES = {
    "group": "the peer is in {subjects}",
    "self": "it is the peer itself",
    "policy": "policy {subjects} lets the two peers meet",
    "route": "route {subjects} joins the two peers",
    "router": "policy {subjects} leads to a network that one peer routes",
    "peers_zone": "every managed peer gets the names of the peers it may reach",
    "managed": "no group of the peer has DNS management disabled",
    "approval_pending": "the peer waits for approval",
    "management_disabled": "DNS management is disabled for {subjects}",
    "disabled": "it is disabled",
    "empty_zone": "the zone has no records",
    "no_shared_group": "the peer is in none of its groups",
    "own_nameserver": "the peer is itself the nameserver {subjects}",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is in or out: a code for programs, `text` for people."""

    code: str
    subjects: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A clause such as `the peer is in group office`."""
        return _SENTENCES[self.code].format(subjects=", ".join(self.subjects))


@dataclass(frozen=True, slots=True)
class EffectiveZone:
    """A zone as the peer gets it.

    The peers' own zone (`kind` `peers`, without id) is authoritative; custom zones
    (`kind` `zone`) let absent names fall through.
    """

    kind: str
    id: str
    name: str
    domain: str
    search: bool
    records: Sequence[Record]
    reason: Reason

    @property
    def authoritative(self) -> bool:
        """Whether an absent name ends the search with NXDOMAIN."""
        return self.kind == "peers"


@dataclass(frozen=True, slots=True)
class EffectiveGroup:
    """A nameserver group as the peer gets it."""

    id: str
    name: str
    primary: bool
    domains: tuple[str, ...]
    search: bool
    nameservers: tuple[Nameserver, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class Excluded:
    """A zone or nameserver group the peer does not get, with every reason."""

    kind: str
    id: str
    name: str
    domains: tuple[str, ...]
    reasons: tuple[Reason, ...]
    primary: bool = False


@dataclass(frozen=True, slots=True)
class SearchDomain:
    """A domain tried for short names and what it comes from."""

    domain: str
    kind: str
    id: str
    name: str


class VisiblePeer(NamedTuple):
    """A peer whose names are in the own zone, and the object that lets it be."""

    id: str
    name: str
    cause: Cause | None

    @property
    def reason(self) -> Reason:
        """The cause as a reason; the peer itself has no cause."""
        if self.cause is None:
            return Reason("self")
        return Reason(self.cause.kind, (self.cause.name,))


@dataclass(frozen=True, slots=True)
class PeerDns:
    """All that one peer gets. Zones: the peers' own first, then creation order."""

    peer_id: str
    peer_name: str
    managed: bool
    reason: Reason
    zones: tuple[EffectiveZone, ...] = ()
    nameserver_groups: tuple[EffectiveGroup, ...] = ()
    search_domains: tuple[SearchDomain, ...] = ()
    visible_peers: Sequence[VisiblePeer] = ()
    excluded: tuple[Excluded, ...] = ()

    @property
    def object_count(self) -> int:
        """Objects of the network map that DNS is responsible for, peers included."""
        records = sum(len(zone.records) for zone in self.zones)
        return records + len(self.nameserver_groups) + len(self.visible_peers)


def to_json(config: PeerDns) -> dict[str, object]:
    """The configuration as plain lists, dicts, texts, numbers and booleans."""
    return {
        "peer_id": config.peer_id,
        "peer_name": config.peer_name,
        "managed": config.managed,
        "reason": _reason(config.reason),
        "zones": [_zone(zone) for zone in config.zones],
        "nameserver_groups": [_group(group) for group in config.nameserver_groups],
        "search_domains": [
            {
                "domain": search.domain,
                "from": {"kind": search.kind, "id": search.id, "name": search.name},
            }
            for search in config.search_domains
        ],
        "visible_peers": _visible(config.visible_peers),
        "excluded": [_excluded(excluded) for excluded in config.excluded],
        "object_count": config.object_count,
    }


def _visible(peers: Sequence[VisiblePeer]) -> list[dict[str, object]]:
    # Hundreds of peers share a few causes.
    by_cause = {peer.cause: peer for peer in peers}
    reasons = {cause: _reason(peer.reason) for cause, peer in by_cause.items()}
    return [
        {"id": peer.id, "name": peer.name, "reason": reasons[peer.cause]}
        for peer in peers
    ]


def _reason(reason: Reason) -> dict[str, object]:
    return {"code": reason.code, "subjects": list(reason.subjects), "text": reason.text}


def _zone(zone: EffectiveZone) -> dict[str, object]:
    return {
        "kind": zone.kind,
        "id": zone.id,
        "name": zone.name,
        "domain": zone.domain,
        "search_domain": zone.search,
        "authoritative": zone.authoritative,
        "records": [
            {"name": r.name, "type": r.type, "content": r.content, "ttl": r.ttl}
            for r in zone.records
        ],
        "reason": _reason(zone.reason),
    }


def _group(group: EffectiveGroup) -> dict[str, object]:
    return {
        "id": group.id,
        "name": group.name,
        "primary": group.primary,
        "domains": list(group.domains),
        "search_domains_enabled": group.search,
        "nameservers": [
            {"ip": server.ip, "ns_type": server.ns_type, "port": server.port}
            for server in group.nameservers
        ],
        "reason": _reason(group.reason),
    }


def _excluded(excluded: Excluded) -> dict[str, object]:
    return {
        "kind": excluded.kind,
        "id": excluded.id,
        "name": excluded.name,
        "domains": list(excluded.domains),
        "primary": excluded.primary,
        "reasons": [_reason(reason) for reason in excluded.reasons],
    }
