"""What several lint rules need, computed once."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from meshmgmt.core.counting import counted
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.names import is_sent
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Zone

_SHOWN = 3


class Facts:
    """A snapshot with the sets the rules work on."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.snapshot = mesh.snapshot
        self.dns_domain = mesh.snapshot.settings.dns_domain
        self.groups_of = mesh.membership.groups_of
        self._receivers: dict[frozenset[str], frozenset[str]] = {}
        self._primaries: dict[frozenset[str], list[NameserverGroup]] = {}

    @cached_property
    def managed(self) -> dict[str, Peer]:
        """Peers that take part and are in no group with DNS management disabled."""
        return {
            id_: peer
            for id_, peer in self.mesh.membership.peers.items()
            if self.mesh.names.manages(self.groups_of(id_))
        }

    @cached_property
    def sent_zones(self) -> list[Zone]:
        """Zones that peers get if they share a group."""
        return [zone for zone in self.snapshot.zones if is_sent(zone)]

    @cached_property
    def sent_groups(self) -> list[NameserverGroup]:
        """Nameserver groups that peers get if they share a group."""
        return [group for group in self.snapshot.nameserver_groups if is_sent(group)]

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """Zone id to the names that have records."""
        return {
            zone.id: frozenset(record.name for record in zone.records)
            for zone in self.snapshot.zones
        }

    @cached_property
    def _managed_members(self) -> dict[str, frozenset[str]]:
        members: defaultdict[str, set[str]] = defaultdict(set)
        for peer_id in self.managed:
            for group in self.groups_of(peer_id):
                members[group].add(peer_id)
        return {group: frozenset(ids) for group, ids in members.items()}

    def receivers(self, groups: frozenset[str]) -> frozenset[str]:
        """Managed peers that are in one of the groups."""
        found = self._receivers.get(groups)
        if found is None:
            members = self._managed_members
            found = frozenset().union(*(members.get(g, ()) for g in groups))
            self._receivers[groups] = found
        return found

    def users(self, group: NameserverGroup) -> frozenset[str]:
        """Managed peers that get a nameserver group: not those that are its servers."""
        ips = {server.ip for server in group.nameservers}
        # A group is not sent to a peer that would ask itself.
        servers = {id_ for ip in ips for id_ in self._by_address.get(ip, ())}
        return self.receivers(group.groups) - servers

    @cached_property
    def _by_address(self) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for peer in self.managed.values():
            for address in filter(None, (peer.ip, peer.ipv6)):
                found[address].append(peer.id)
        return found

    def has_members(self, group_id: str) -> bool:
        """Tell whether any peer, be it that it takes no part, is in a group."""
        everybody = group_id == self.snapshot.everybody
        return bool(
            self.snapshot.peers if everybody else self.snapshot.members.get(group_id)
        )

    def primaries(self, groups: frozenset[str]) -> list[NameserverGroup]:
        """Primary nameserver groups of peers that are in exactly these groups."""
        if groups not in self._primaries:
            self._primaries[groups] = [
                group
                for group in self.sent_groups
                if group.primary and group.groups & groups
            ]
        return self._primaries[groups]

    def peers_text(self, ids: Iterable[str]) -> str:
        """`3 peers (ann, bob, cy)`, with at most three names."""
        # By id, that is by age: the same names each time.
        chosen = sorted(ids)
        names = [self.snapshot.peers[id_].name for id_ in chosen[:_SHOWN]]
        if len(chosen) > _SHOWN:
            names.append("…")
        return f"{counted(len(chosen), 'peer')} ({', '.join(names)})"

    @cached_property
    def by_domain(self) -> dict[str, list[Zone]]:
        """Zones that peers get if they share a group, by their domain."""
        found: defaultdict[str, list[Zone]] = defaultdict(list)
        for zone in self.sent_zones:
            found[zone.domain].append(zone)
        return found
