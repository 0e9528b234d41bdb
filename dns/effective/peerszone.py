"""The peers' own zone: the names of the peers that one peer may reach."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from dns.effective.result import EffectiveZone, Reason, VisiblePeer
from dns.effective.snapshot import Peer, Record, Snapshot
from meshmgmt.access.reach import ReachGraph
from meshmgmt.access.visibility import Joined, Visibility, causes

Item = TypeVar("Item")

PEER_RECORD_TTL = 300
_NAME = "Peers"
_REASON = Reason("peers_zone")


class PeersZone:
    """Makes the zone of each peer of a snapshot; each record is made once for all."""

    def __init__(self, snapshot: Snapshot, graph: ReachGraph) -> None:
        self._graph = graph
        self._members = snapshot.members
        self._domain = snapshot.dns_domain
        self._approved = [
            peer for _, peer in sorted(snapshot.peers.items()) if peer.approved
        ]

    def of(self, peer: Peer) -> tuple[EffectiveZone, Sequence[VisiblePeer]]:
        """The zone of a peer, and whose names are in it; the peer itself comes first."""
        # IPv6 addresses are of use only to a peer that has one itself.
        shown = self._ipv4_records if peer.ipv6 is None else self._records
        own = self._all_of(peer)
        records = shown.seen_from(peer.id, peer.groups, first=own)
        others = self._peers.seen_from(peer.id, peer.groups)
        visible = Joined(1 + len(others), lambda: self._listed(peer, others))
        return self.holding(records), visible

    @cached_property
    def _peers(self) -> Visibility[Peer]:
        return self._visibility(lambda peer: (peer,))

    @cached_property
    def _ipv4_records(self) -> Visibility[Record]:
        return self._visibility(self._ipv4_of)

    @cached_property
    def _records(self) -> Visibility[Record]:
        return self._visibility(self._all_of)

    def _visibility(
        self, shown: Callable[[Peer], tuple[Item, ...]]
    ) -> Visibility[Item]:
        things = {peer.id: shown(peer) for peer in self._approved}
        return Visibility(self._graph, self._members, things)

    def holding(self, records: Sequence[Record]) -> EffectiveZone:
        """The zone with these records."""
        return EffectiveZone(
            kind="peers",
            id="",
            name=_NAME,
            domain=self._domain,
            search=True,
            records=records,
            reason=_REASON,
        )

    def _listed(self, peer: Peer, others: Sequence[Peer]) -> Iterator[VisiblePeer]:
        why = causes(self._graph, self._members, peer.id, peer.groups)
        yield VisiblePeer(peer.id, peer.name, None)
        for other in others:
            yield VisiblePeer(other.id, other.name, why[other.id])

    def _ipv4_of(self, peer: Peer) -> tuple[Record, ...]:
        return self._named(peer, "A", peer.ip)

    def _all_of(self, peer: Peer) -> tuple[Record, ...]:
        ipv4 = self._ipv4_of(peer)
        return (
            ipv4 if peer.ipv6 is None else ipv4 + self._named(peer, "AAAA", peer.ipv6)
        )

    def _named(self, peer: Peer, kind: str, address: str) -> tuple[Record, ...]:
        domain = self._domain
        if not domain:
            return ()
        first = Record(f"{peer.label}.{domain}", kind, address, PEER_RECORD_TTL)
        if not peer.extra_labels:
            return (first,)
        return first, *(first._replace(name=f"{x}.{domain}") for x in peer.extra_labels)
