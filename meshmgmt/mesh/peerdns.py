"""What one peer gets as its DNS configuration, and why: its map, read for people."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.membership import absence
from meshmgmt.mesh.names import own_servers
from meshmgmt.mesh.reasons import Reason, Subject, subject_of
from meshmgmt.mesh.sides import NONE, Union
from meshmgmt.mesh.snapshot import NameserverGroup, Record, Zone

NETWORK_MAP_GUIDANCE: Final = 5000
"""Objects of a map above which it may slow a peer down (seed, "Limits")."""

_OWN_ZONE: Final = "Peers"


class EffectiveZone(NamedTuple):
    """A zone as the peer gets it.

    The peers' own zone (`kind` `peers`, without id) is authoritative; custom zones
    (`kind` `zone`) let absent names fall through.
    """

    kind: str
    id: str
    name: str
    domain: str
    search: bool
    records: tuple[Record, ...]
    reason: Reason

    @property
    def authoritative(self) -> bool:
        """Whether an absent name ends the search with NXDOMAIN."""
        return self.kind == "peers"


class EffectiveGroup(NamedTuple):
    """A nameserver group that the peer gets, and why."""

    group: NameserverGroup
    reason: Reason


class Excluded(NamedTuple):
    """A zone or nameserver group the peer does not get, with every reason."""

    subject: Subject
    domains: tuple[str, ...]
    reasons: tuple[Reason, ...]
    primary: bool = False


class SearchDomain(NamedTuple):
    """A domain tried for short names and what it comes from."""

    domain: str
    subject: Subject


class VisiblePeer(NamedTuple):
    """A peer whose names are in the own zone, and why."""

    id: str
    name: str
    reason: Reason


class PeerDns:
    """All that one peer gets of DNS. Lists are made when they are first read."""

    def __init__(self, mesh: Mesh, peer_id: str) -> None:
        """Read it off the mesh. Raises KeyError for an unknown peer."""
        self.mesh = mesh
        self.peer = mesh.snapshot.peers[peer_id]
        self.peer_id, self.peer_name = peer_id, self.peer.name
        self.groups = mesh.membership.groups_of(peer_id)
        self._dns = mesh.dns(peer_id)
        self.managed = self._dns is not None
        self._zones = self._dns.zones if self._dns else ()
        self.servers = self._dns.nameserver_groups if self._dns else ()

    @property
    def reason(self) -> Reason:
        """Why DNS of the peer is managed, or the first reason why it is not."""
        return Reason("managed") if self.managed else self.reasons_unmanaged[0]

    @cached_property
    def reasons_unmanaged(self) -> tuple[Reason, ...]:
        """Every reason why DNS of the peer is not managed."""
        absent = absence(self.peer, self.mesh.snapshot, self.mesh.now)
        unmanaged = self.groups & self.mesh.snapshot.unmanaged_groups
        names = self._group_names(unmanaged)
        disabled = (Reason("management_disabled", names),) if unmanaged else ()
        return (*map(Reason, absent), *disabled)

    @cached_property
    def zones(self) -> tuple[EffectiveZone, ...]:
        """The peers' own zone first, then custom zones in creation order."""
        own = [self._own_zone] if self._domain else []
        return (*own, *map(self._custom_zone, self._zones))

    @cached_property
    def nameserver_groups(self) -> tuple[EffectiveGroup, ...]:
        return tuple(EffectiveGroup(each, self._shared(each)) for each in self.servers)

    @property
    def search_domains(self) -> tuple[SearchDomain, ...]:
        """Of the own zone, of zones, then match domains; each domain once."""
        found: dict[str, SearchDomain] = {}
        for search in self._searched():
            found.setdefault(search.domain, search)
        return tuple(found.values())

    @property
    def visible_peers(self) -> list[VisiblePeer]:
        """The peers whose names it knows; the peer itself comes first."""
        if not self.managed:
            return []
        peers, why = self.mesh.membership.peers, self._causes()
        return [
            VisiblePeer(self.peer_id, self.peer_name, Reason("self")),
            *(VisiblePeer(id_, peers[id_].name, why[id_]) for id_ in self._names),
        ]

    @cached_property
    def excluded(self) -> list[Excluded]:
        """What it does not get, zones first, with every reason."""
        snapshot = self.mesh.snapshot
        got = {zone.id for zone in self._zones} | {each.id for each in self.servers}
        general = self.reasons_unmanaged
        items: list[Zone | NameserverGroup] = [*snapshot.zones]
        items += snapshot.nameserver_groups
        return [
            _excluded(item, (*general, *self._reasons_out(item)))
            for item in items
            if item.id not in got
        ]

    @cached_property
    def object_count(self) -> int:
        """Objects of the network map that DNS is responsible for, peers included."""
        if not self.managed:
            return 0
        records = self.mesh.peer_names.count(self.peer, self._names)
        records += sum(len(zone.records) for zone in self._zones)
        # With the peer itself: it counts as one of the map's objects.
        return records + len(self.servers) + 1 + len(self._names)

    @cached_property
    def _names(self) -> Union:
        sight = self.mesh.sight(self.peer_id) if self.managed else None
        return NONE if sight is None else sight.names

    def _custom_zone(self, zone: Zone) -> EffectiveZone:
        told = (zone.id, zone.name, zone.domain, zone.search, zone.records)
        return EffectiveZone("zone", *told, self._shared(zone))

    @property
    def _own_zone(self) -> EffectiveZone:
        records = self.mesh.peer_names.of(self.peer, self._names)
        return EffectiveZone(
            "peers",
            "",
            _OWN_ZONE,
            self._domain,
            search=True,
            records=records,
            reason=Reason("peers_zone"),
        )

    @property
    def _domain(self) -> str:
        """The domain of the peers' own zone, "" without such a zone."""
        return self.mesh.snapshot.settings.dns_domain if self.managed else ""

    def _searched(self) -> Iterator[SearchDomain]:
        if self._domain:
            yield SearchDomain(self._domain, Subject("peers", "", _OWN_ZONE))
        for zone in self._zones:
            if zone.search:
                yield SearchDomain(zone.domain, subject_of(zone))
        for group in self.servers:
            for domain in group.domains if group.search else ():
                yield SearchDomain(domain, subject_of(group))

    def _causes(self) -> dict[str, Reason]:
        """What lets the peer know the names of others: the first in order."""
        found: dict[str, Reason] = {}
        left = self._names.mask
        for reason, mask in self.mesh.ways(self.peer_id):
            for id_ in self._names.roster.listed(mask & left):
                found[id_] = reason
            # The first reason counts, so who has one needs no other.
            left &= ~mask
        return found

    def _shared(self, item: Zone | NameserverGroup) -> Reason:
        return Reason("group", self._group_names(item.groups & self.groups))

    def _group_names(self, ids: Iterable[str]) -> tuple[str, ...]:
        name_of = self.mesh.snapshot.group_name
        return tuple([f"group {name_of(id_)}" for id_ in sorted(ids)])

    def _reasons_out(self, item: Zone | NameserverGroup) -> Iterator[Reason]:
        if not item.enabled:
            yield Reason("disabled")
        if item.is_empty:
            is_zone = isinstance(item, Zone)
            yield Reason("empty_zone" if is_zone else "no_usable_domain")
        if self.groups.isdisjoint(item.groups):
            yield Reason("no_shared_group")
        elif isinstance(item, NameserverGroup) and own_servers(self.peer, item):
            yield Reason("own_nameserver", tuple(own_servers(self.peer, item)))


def _excluded(item: Zone | NameserverGroup, reasons: tuple[Reason, ...]) -> Excluded:
    subject = subject_of(item)
    if isinstance(item, Zone):
        return Excluded(subject, (item.domain,), reasons)
    return Excluded(subject, item.domains, reasons, item.primary)
