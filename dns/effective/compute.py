"""From a snapshot of the account to the configuration of its peers.

`Configurator` prepares what all peers share once: the reach graph, the records
of each peer, the choice of zones and groups for each set of group ids.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dns.effective.peerszone import PeersZone
from dns.effective.result import (
    EffectiveGroup,
    EffectiveZone,
    Excluded,
    PeerDns,
    Reason,
    SearchDomain,
)
from dns.effective.selection import Selection, effective_group, effective_zone
from dns.effective.snapshot import NameserverGroup, Peer, Snapshot, Zone
from meshmgmt.access.reach import ReachGraph

_Key = tuple[str, frozenset[str]]


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
        self._peers_zone = PeersZone(snapshot, graph or ReachGraph(snapshot.reach))
        self._zones = Selection(snapshot.zones)
        self._groups = Selection(snapshot.nameserver_groups)
        self._choices: dict[frozenset[str], _Choice] = {}
        self._effective_zones: dict[_Key, EffectiveZone] = {}
        self._effective_groups: dict[_Key, EffectiveGroup] = {}

    @property
    def snapshot(self) -> Snapshot:
        """The state everything is computed from."""
        return self._snapshot

    def config(self, peer_id: str) -> PeerDns:
        """Configuration of one peer; KeyError when the snapshot lacks it."""
        peer = self._snapshot.peers[peer_id]
        if not peer.approved:
            reason = Reason("approval_pending")
            return _unmanaged(peer, reason, self._all_excluded(peer, reason))
        choice = self._choice(peer.groups)
        if choice.disabled_by:
            reason = Reason("management_disabled", choice.disabled_by)
            return _unmanaged(peer, reason, choice.excluded)
        groups, excluded = self._without_own_servers(peer, choice)
        own, visible = self._peers_zone.of(peer)
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

    def search_domains(self, peer_id: str) -> tuple[SearchDomain, ...]:
        """The search domains alone, without looking at who sees whom."""
        peer = self._snapshot.peers[peer_id]
        choice = self._choice(peer.groups)
        groups, _ = self._without_own_servers(peer, choice)
        if choice.disabled_by or not peer.approved:
            return ()
        own = (self._peers_zone.holding(()),) if self._snapshot.dns_domain else ()
        return _search_domains((*own, *choice.zones), groups)

    def _all_excluded(self, peer: Peer, reason: Reason) -> tuple[Excluded, ...]:
        _, zones = self._zones.choose(peer.groups, reason)
        _, groups = self._groups.choose(peer.groups, reason)
        return (*zones, *groups)

    def _choice(self, groups: frozenset[str]) -> _Choice:
        choice = self._choices.get(groups)
        if choice is None:
            choice = self._choices[groups] = self._choose(groups)
        return choice

    def _choose(self, groups: frozenset[str]) -> _Choice:
        snapshot = self._snapshot
        disabled = groups & snapshot.disabled_groups
        disabled_by = _group_names(snapshot, disabled)
        general = Reason("management_disabled", disabled_by) if disabled else None
        zones, zones_out = self._zones.choose(groups, general)
        chosen, groups_out = self._groups.choose(groups, general)
        return _Choice(
            disabled_by=disabled_by,
            zones=tuple([self._zone(zone, zone.groups & groups) for zone in zones]),
            groups=tuple(
                [self._group(group, group.groups & groups) for group in chosen]
            ),
            excluded=(*zones_out, *groups_out),
        )

    def _zone(self, zone: Zone, shared: frozenset[str]) -> EffectiveZone:
        """The zone for peers that share these groups with it."""
        key = (zone.id, shared)
        if key not in self._effective_zones:
            reason = Reason("group", _group_names(self._snapshot, shared))
            self._effective_zones[key] = effective_zone(zone, reason)
        return self._effective_zones[key]

    def _group(self, group: NameserverGroup, shared: frozenset[str]) -> EffectiveGroup:
        """The nameserver group for peers that share these groups with it."""
        key = (group.id, shared)
        if key not in self._effective_groups:
            reason = Reason("group", _group_names(self._snapshot, shared))
            self._effective_groups[key] = effective_group(group, reason)
        return self._effective_groups[key]

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


def _unmanaged(peer: Peer, reason: Reason, excluded: tuple[Excluded, ...]) -> PeerDns:
    return PeerDns(
        peer_id=peer.id,
        peer_name=peer.name,
        managed=False,
        reason=reason,
        excluded=excluded,
    )


def _group_names(snapshot: Snapshot, ids: Iterable[str]) -> tuple[str, ...]:
    names = snapshot.group_names
    return tuple(f"group {names.get(id_, id_)}" for id_ in sorted(ids))


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
                domain, SearchDomain(domain, "nameserver_group", group.id, group.name)
            )
    return tuple(found.values())
