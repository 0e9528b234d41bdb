"""The DNS part of a map, but for the names of peers."""

from collections.abc import Collection, Iterable
from typing import Final

from dns.effective.selection import Selection
from meshmgmt.netmap.result import Dns
from meshmgmt.netmap.snapshot import Peer, Snapshot
from meshmgmt.netmap.versions import is_semantic_at_least

FORWARDER_PORT: Final = 22054
OLD_FORWARDER_PORT: Final = 5353
_NEW_PORT_SINCE: Final = (0, 59, 0)


def forwarder_port(versions: Iterable[str]) -> int:
    """The port of DNS forwarders: the new one once every client knows it."""
    new = all(is_semantic_at_least(text, _NEW_PORT_SINCE) for text in versions)
    return FORWARDER_PORT if new else OLD_FORWARDER_PORT


class Names:
    """Custom zones and nameserver groups by the groups they are for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._unmanaged = snapshot.unmanaged_groups
        self._zones = Selection(snapshot.zones)
        self._groups = Selection(snapshot.nameserver_groups)

    def of(self, peer: Peer, groups: Collection[str]) -> Dns | None:
        """What a peer in these groups gets; None for one that is not managed.

        A nameserver group that would have the peer ask itself is left out.
        """
        if not self._unmanaged.isdisjoint(groups):
            return None
        own = {peer.ip, peer.ipv6}
        servers = self._groups.chosen(groups)
        return Dns(
            self._zones.chosen(groups),
            [
                group
                for group in servers
                if own.isdisjoint(server.ip for server in group.nameservers)
            ],
        )
