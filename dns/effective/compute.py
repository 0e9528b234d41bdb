"""From a snapshot of the account to the configuration of its peers.

`Configurator` prepares what all peers share once: the reach graph, the records
of each peer, the choice of zones and groups for each set of group ids.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dns.effective.result import (
    EffectiveGroup,
    EffectiveZone,
    Excluded,
    PeerDns,
    Reason,
    SearchDomain,
    VisiblePeer,
)
from dns.effective.snapshot import NameserverGroup, Peer, Record, Snapshot, Zone
from meshmgmt.access.reach import Cause, ReachGraph, Visibility

PEER_RECORD_TTL = 300
_PEERS_ZONE_NAME = "Peers"


@dataclass(frozen=True, slots=True)
class _Choice:
    """What peers with one set of group ids get, apart from the peers' own zone."""

    disabled_by: tuple[str, ...]
    zones: tuple[EffectiveZone, ...]
    groups: tuple[EffectiveGroup, ...]
    excluded: tuple[Excluded, ...]


def peer_config(
    snapshot: Snapshot, peer_id: str, *, graph: ReachGraph | None = None
) -> PeerDns:
    """Configuration of one peer. Raises KeyError when the peer is unknown.

    For many peers of one snapshot keep a `Configurator`.
    """
    return Configurator(snapshot, graph=graph).config(peer_id)


class Configurator:
    """Computes configurations from one snapshot; work is shared between peers."""

    def __init__(self, snapshot: Snapshot, *, graph: ReachGraph | None = None) -> None:
        self._snapshot = snapshot
        self._visibility = Visibility(
            graph or ReachGraph(snapshot.reach), snapshot.members
        )
        self._choices: dict[frozenset[str], _Choice] = {}
        self._records: dict[str, tuple[tuple[Record, ...], tuple[Record, ...]]] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The state everything is computed from."""
        return self._snapshot

    def config(self, peer_id: str) -> PeerDns:
        """Configuration of one peer; KeyError when the snapshot lacks it."""
        peer = self._snapshot.peers[peer_id]
        choice = self._choice(peer.groups)
        if choice.disabled_by:
            return PeerDns(
                peer_id=peer.id,
                peer_name=peer.name,
                managed=False,
                reason=Reason("management_disabled", choice.disabled_by),
                excluded=choice.excluded,
            )
        groups, excluded = self._without_own_servers(peer, choice)
        own, visible = self._own_zone(peer)
        zones = (own, *choice.zones) if own.records else choice.zones
        return PeerDns(
            peer_id=peer.id,
            peer_name=peer.name,
            managed=True,
            reason=Reason("managed"),
            zones=zones,
            nameserver_groups=groups,
            search_domains=_search_domains(zones, groups),
            visible_peers=visible,
            excluded=excluded,
        )

    def visible_from(self, peer_id: str) -> Mapping[str, Cause]:
        """Peers the peer may reach, with the object that lets it."""
        peer = self._snapshot.peers[peer_id]
        return self._visibility.visible_from(peer.id, peer.groups)

    def _choice(self, groups: frozenset[str]) -> _Choice:
        choice = self._choices.get(groups)
        if choice is None:
            choice = self._choices[groups] = _choose(self._snapshot, groups)
        return choice

    def _own_zone(self, peer: Peer) -> tuple[EffectiveZone, tuple[VisiblePeer, ...]]:
        peers = self._snapshot.peers
        causes = self.visible_from(peer.id)
        visible = [VisiblePeer(peer.id, peer.name, None)]
        records: list[Record] = []
        # IPv6 addresses are of use only to a peer that has one itself.
        family = 0 if peer.ipv6 is None else 1
        if self._snapshot.dns_domain:
            records.extend(self._records_of(peer)[family])
        for other_id in sorted(causes):
            other = peers.get(other_id)
            if other is None:  # a rule may still name a peer that was deleted
                continue
            visible.append(VisiblePeer(other.id, other.name, causes[other_id]))
            if self._snapshot.dns_domain:
                records.extend(self._records_of(other)[family])
        zone = EffectiveZone(
            kind="peers",
            id="",
            name=_PEERS_ZONE_NAME,
            domain=self._snapshot.dns_domain,
            search=True,
            records=tuple(records),
            reason=Reason("peers_zone"),
        )
        return zone, tuple(visible)

    def _records_of(self, peer: Peer) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """Records of a peer for receivers without and with IPv6."""
        records = self._records.get(peer.id)
        if records is None:
            domain = self._snapshot.dns_domain
            names = [f"{label}.{domain}" for label in (peer.label, *peer.extra_labels)]
            v4 = tuple(Record(name, "A", peer.ip, PEER_RECORD_TTL) for name in names)
            v6 = (
                tuple(
                    Record(name, "AAAA", peer.ipv6, PEER_RECORD_TTL) for name in names
                )
                if peer.ipv6 is not None
                else ()
            )
            records = self._records[peer.id] = (v4, v4 + v6)
        return records

    @staticmethod
    def _without_own_servers(
        peer: Peer, choice: _Choice
    ) -> tuple[tuple[EffectiveGroup, ...], tuple[Excluded, ...]]:
        """Groups in which the peer is not itself a server (it would ask itself)."""
        own = {peer.ip, peer.ipv6}
        mine = {
            group.id: server.ip
            for group in choice.groups
            for server in group.nameservers
            if server.ip in own
        }
        if not mine:
            return choice.groups, choice.excluded
        out = tuple(
            Excluded(
                kind="nameserver_group",
                id=group.id,
                name=group.name,
                domains=group.domains,
                reasons=(Reason("own_nameserver", (mine[group.id],)),),
                primary=group.primary,
            )
            for group in choice.groups
            if group.id in mine
        )
        kept = tuple(group for group in choice.groups if group.id not in mine)
        return kept, (*choice.excluded, *out)


def _choose(snapshot: Snapshot, groups: frozenset[str]) -> _Choice:
    names = snapshot.group_names

    def named(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"group {names.get(id_, id_)}" for id_ in sorted(ids))

    disabled_by = named(groups & snapshot.disabled_groups)
    general = [Reason("management_disabled", disabled_by)] if disabled_by else []
    zones: list[EffectiveZone] = []
    chosen: list[EffectiveGroup] = []
    excluded: list[Excluded] = []
    for zone in snapshot.zones:
        shared = zone.groups & groups
        if reasons := [*general, *_zone_reasons(zone, shared)]:
            excluded.append(_excluded_zone(zone, reasons))
        else:
            zones.append(_effective_zone(zone, Reason("group", named(shared))))
    for group in snapshot.nameserver_groups:
        shared = group.groups & groups
        if reasons := [*general, *_group_reasons(group, shared)]:
            excluded.append(_excluded_group(group, reasons))
        else:
            chosen.append(_effective_group(group, Reason("group", named(shared))))
    return _Choice(disabled_by, tuple(zones), tuple(chosen), tuple(excluded))


def _zone_reasons(zone: Zone, shared: frozenset[str]) -> Iterable[Reason]:
    if not zone.enabled:
        yield Reason("disabled")
    if zone.is_empty:
        yield Reason("empty_zone")
    if not shared:
        yield Reason("no_shared_group")


def _group_reasons(group: NameserverGroup, shared: frozenset[str]) -> Iterable[Reason]:
    if not group.enabled:
        yield Reason("disabled")
    if not shared:
        yield Reason("no_shared_group")


def _excluded_zone(zone: Zone, reasons: list[Reason]) -> Excluded:
    return Excluded(
        kind="zone",
        id=zone.id,
        name=zone.name,
        domains=(zone.domain,),
        reasons=tuple(reasons),
    )


def _excluded_group(group: NameserverGroup, reasons: list[Reason]) -> Excluded:
    return Excluded(
        kind="nameserver_group",
        id=group.id,
        name=group.name,
        domains=group.domains,
        reasons=tuple(reasons),
        primary=group.primary,
    )


def _effective_zone(zone: Zone, reason: Reason) -> EffectiveZone:
    return EffectiveZone(
        kind="zone",
        id=zone.id,
        name=zone.name,
        domain=zone.domain,
        search=zone.search,
        records=zone.records,
        reason=reason,
    )


def _effective_group(group: NameserverGroup, reason: Reason) -> EffectiveGroup:
    return EffectiveGroup(
        id=group.id,
        name=group.name,
        primary=group.primary,
        domains=group.domains,
        search=group.search,
        nameservers=group.nameservers,
        reason=reason,
    )


def _search_domains(
    zones: tuple[EffectiveZone, ...], groups: tuple[EffectiveGroup, ...]
) -> tuple[SearchDomain, ...]:
    """Own zone, zones, then match domains; each domain once."""
    found: dict[str, SearchDomain] = {}
    for zone in zones:
        if zone.search:
            found.setdefault(
                zone.domain, SearchDomain(zone.domain, zone.kind, zone.id, zone.name)
            )
    for group in groups:
        for domain in group.domains if group.search else ():
            found.setdefault(
                domain,
                SearchDomain(domain, "nameserver_group", group.id, group.name),
            )
    return tuple(found.values())
