"""What several lint rules need, computed once."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from dns.effective.compute import Configurator
from dns.effective.snapshot import NameserverGroup, Peer, Snapshot, Zone
from dns.lint.finding import Finding

_SHOWN = 3


class Facts:
    """A snapshot with the sets the rules work on."""

    def __init__(self, snapshot: Snapshot, configurator: Configurator) -> None:
        self.snapshot = snapshot
        self.configurator = configurator
        self._receivers: dict[frozenset[str], frozenset[str]] = {}
        self._primaries: dict[frozenset[str], list[NameserverGroup]] = {}

    @cached_property
    def managed(self) -> dict[str, Peer]:
        """Approved peers that are in no group with DNS management disabled."""
        disabled = self.snapshot.disabled_groups
        return {
            peer.id: peer
            for peer in self.snapshot.peers.values()
            if peer.approved and not peer.groups & disabled
        }

    @cached_property
    def sent_zones(self) -> list[Zone]:
        """Zones that peers get if they share a group."""
        return [z for z in self.snapshot.zones if z.enabled and not z.is_empty]

    @cached_property
    def sent_groups(self) -> list[NameserverGroup]:
        """Nameserver groups that peers get if they share a group."""
        return [group for group in self.snapshot.nameserver_groups if group.enabled]

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
        for peer in self.managed.values():
            for group in peer.groups:
                members[group].add(peer.id)
        return {group: frozenset(ids) for group, ids in members.items()}

    def receivers(self, groups: frozenset[str]) -> frozenset[str]:
        """Managed peers that are in one of the groups."""
        found = self._receivers.get(groups)
        if found is None:
            members = self._managed_members
            found = frozenset().union(*(members.get(g, ()) for g in groups))
            self._receivers[groups] = found
        return found

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
        chosen = sorted(ids)
        names = [self.snapshot.peers[id_].name for id_ in chosen[:_SHOWN]]
        if len(chosen) > _SHOWN:
            names.append("…")
        return f"{counted(len(chosen), 'peer')} ({', '.join(names)})"

    def group_name(self, group_id: str) -> str:
        """Name of a group, or its id when the snapshot has none."""
        return self.snapshot.group_names.get(group_id, group_id)


def counted(number: int, noun: str) -> str:
    """`1 peer`, `2 peers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def zone_finding(code: str, zone: Zone, text: str) -> Finding:
    return Finding(code, "zone", zone.id, zone.name, text)


def group_finding(code: str, group: NameserverGroup, text: str) -> Finding:
    return Finding(code, "nameserver_group", group.id, group.name, text)
