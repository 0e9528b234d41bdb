"""Which names a peer is told: custom zones, nameserver groups, and those of other peers."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Final, Generic, TypeVar

from meshmgmt.mesh.result import Dns
from meshmgmt.mesh.sides import Union, chosen
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Record, Snapshot, Zone
from meshmgmt.mesh.versions import is_semantic_at_least

Item = TypeVar("Item", bound=Zone | NameserverGroup)

FORWARDER_PORT: Final = 22054
OLD_FORWARDER_PORT: Final = 5353
_NEW_PORT_SINCE: Final = (0, 59, 0)
PEER_TTL: Final = 300


def forwarder_port(versions: Iterable[str]) -> int:
    """The port of DNS forwarders: the new one once every client knows it."""
    # One old client, or one of no version, keeps all at the old port.
    new = all(is_semantic_at_least(text, _NEW_PORT_SINCE) for text in versions)
    return FORWARDER_PORT if new else OLD_FORWARDER_PORT


class Names:
    """Custom zones and nameserver groups by the groups they are for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._unmanaged = snapshot.unmanaged_groups
        self._zones = _Selection(snapshot.zones)
        self._servers = _Selection(snapshot.nameserver_groups)

    def manages(self, groups: Collection[str]) -> bool:
        """Tell whether DNS of a peer in these groups is managed, if it takes part."""
        return self._unmanaged.isdisjoint(groups)

    def of(self, peer: Peer, groups: Collection[str]) -> Dns | None:
        """What a peer in these groups gets; None for one that is not managed.

        A nameserver group that would have the peer ask itself is left out.
        """
        if not self.manages(groups):
            return None
        # In the order of creation, in which agents ask groups of one domain.
        servers = self._servers.chosen(groups)
        return Dns(
            self._zones.chosen(groups),
            [group for group in servers if not own_servers(peer, group)],
        )


def is_sent(item: Zone | NameserverGroup) -> bool:
    """Tell whether peers of its groups get it."""
    return item.enabled and not item.is_empty


def own_servers(peer: Peer, group: NameserverGroup) -> list[str]:
    """The addresses at which a peer would ask itself."""
    # Of both families; the reference looks at IPv4 alone.
    own = {peer.ip, peer.ipv6}
    return [server.ip for server in group.nameservers if server.ip in own]


class _Selection(Generic[Item]):
    """What is sent, found by groups."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = [item for item in items if is_sent(item)]
        self._by_group: defaultdict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self._items):
            for group in item.groups:
                self._by_group[group].append(number)

    def chosen(self, groups: Iterable[str]) -> list[Item]:
        """What peers in `groups` get, in creation order."""
        shared: set[int] = set()
        for group in groups:
            if group in self._by_group:
                shared.update(self._by_group[group])
        return [self._items[number] for number in sorted(shared)]


def peer_records(peer: Peer, domain: str, *, ipv6: bool) -> tuple[Record, ...]:
    """The records of a peer in the peers' zone, for receivers with or without IPv6."""
    if not domain:
        return ()
    addresses = [("A", peer.ip)]
    if ipv6 and peer.has_ipv6:
        addresses.append(("AAAA", peer.ipv6 or ""))
    return tuple(
        [
            Record(f"{label}.{domain}", kind, address, PEER_TTL)
            for label in (peer.label, *peer.extra_labels)
            for kind, address in addresses
        ]
    )


class PeerNames:
    """The records of all peers, made once for all who know them."""

    def __init__(self, peers: Mapping[str, Peer], domain: str) -> None:
        self._peers = peers
        self._domain = domain
        self._families: dict[bool, _Family] = {}

    def of(self, receiver: Peer, names: Union) -> tuple[Record, ...]:
        """The records in the zone that a peer holds: its own, then of those it knows."""
        others = self._family(ipv6=receiver.has_ipv6).listed(names.mask)
        return tuple(chain(self._own(receiver), others))

    def count(self, receiver: Peer, names: Union) -> int:
        """How many records `of` gives, without listing them."""
        sizes = self._family(ipv6=receiver.has_ipv6).sizes
        others = (n * (names.mask & mask).bit_count() for n, mask in sizes.items())
        return len(self._own(receiver)) + sum(others)

    def _family(self, *, ipv6: bool) -> "_Family":
        if ipv6 not in self._families:
            peers, domain = self._peers.values(), self._domain
            records = [peer_records(peer, domain, ipv6=ipv6) for peer in peers]
            self._families[ipv6] = _Family(records)
        return self._families[ipv6]

    def _own(self, receiver: Peer) -> tuple[Record, ...]:
        return peer_records(receiver, self._domain, ipv6=receiver.has_ipv6)


class _Family:
    """Records by the place of their peer, as receivers with or without IPv6 get them."""

    def __init__(self, records: list[tuple[Record, ...]]) -> None:
        self._records = records
        self.sizes: defaultdict[int, int] = defaultdict(int)
        """Numbers of records, each with the mask of the peers that have as many."""
        for place, of_peer in enumerate(records):
            self.sizes[len(of_peer)] |= 1 << place
        single = self.sizes.keys() == {1}  # by far the most; joining takes longer
        self._single = [record for [record] in records] if single else None

    def listed(self, mask: int) -> Iterable[Record]:
        if self._single is not None:
            return chosen(self._single, mask)
        return chain.from_iterable(chosen(self._records, mask))
