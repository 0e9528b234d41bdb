"""What each peer must know, kept up to date with the database.

    store = MapStore()
    refresh = store.refresh()
    for peer_id in refresh.chosen_from(connected):
        if (message := store.changed(peer_id)) is not None:
            send(message)

A store is used by one thread at a time and remembers what it handed out for each peer.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from google.protobuf.json_format import MessageToDict

from meshmgmt.control import changes
from meshmgmt.control.encoding.message import Encoded, Encoder, closing_message
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.core.errors import NotFound
from meshmgmt.core.transactions import nothing, read_snapshot
from meshmgmt.mesh import Mesh, NetworkMap, affected
from meshmgmt.mesh.snapshot import Settings, Snapshot
from meshmgmt.meshstate.loading import Touched, load, mesh_of

_EMPTY: Final = Snapshot(settings=Settings(), peers={}, members={})


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a refresh found: the serial of the maps, and whose map may have changed.

    `affected` is None when that may be everybody's. Deleted peers are in `deleted`.
    """

    serial: int
    affected: frozenset[str] | None = frozenset()
    deleted: frozenset[str] = frozenset()

    def chosen_from(self, peer_ids: Collection[str]) -> list[str]:
        """Those of the peers given that may have to be told."""
        if self.affected is None:
            return list(peer_ids)
        return [peer_id for peer_id in peer_ids if peer_id in self.affected]


class MapStore:
    """Maps of all peers, from a snapshot of the account in memory.

    Messages are `management.SyncResponse` in serialized form without `netbirdConfig`:
    `SyncResponse(netbirdConfig=...).SerializeToString() + message` has it too. Those
    for a peer raise NotFound for an unknown one and Unsendable for a message that no
    peer may get. One that is not `serving` only looks: it leaves the serial alone.
    """

    def __init__(self, *, serving: bool = True) -> None:
        self.serial = 0
        self.mesh = Mesh(_EMPTY, 0)
        self._serving = serving
        self._encoder = Encoder()
        self._encoder.use(self.mesh)
        self._told: dict[str, int] = {}
        """By peer: the hash of what it was told, which is good in this process alone."""

    def refresh(self, beside: Callable[[], None] = nothing) -> Refresh:
        """Read what changed since the last refresh; one query when nothing did.

        The first one reads everything, raises the serial above all that was ever
        handed out, and affects everybody. So does one that finds the serial gone back.
        `beside` reads what else follows the serial, in the same snapshot. If anything
        fails, the store keeps what it had.
        """
        if self._serving and not self.serial:
            changes.begin()
        while True:
            with read_snapshot():
                newest, touched = changes.changes_since(self.serial)
                if newest == self.serial and touched is not None:
                    return Refresh(self.serial)
                if newest > self.serial or not self._serving:
                    beside()
                    return self._take(newest, touched)
            changes.begin(above=self.serial)  # the database was put back

    def message(self, peer_id: str) -> bytes:
        """The whole message for a peer, for a stream that begins."""
        encoded = self._encoded(peer_id)
        self._told[peer_id] = hash(encoded)
        return encoded.message(self.serial)

    def changed(self, peer_id: str) -> bytes | None:
        """The message for a peer, None when only its serial differs from the last one."""
        encoded = self._encoded(peer_id)
        digest = hash(encoded)
        if self._told.get(peer_id) == digest:
            return None
        self._told[peer_id] = digest
        return encoded.message(self.serial)

    def closing_message(self) -> bytes:
        """The last message for a peer that is deleted: it sees nobody."""
        return closing_message(self.serial, self.mesh.forwarder_port)

    def peer_config(self, peer_id: str) -> pb.PeerConfig:
        """What Login tells a peer about itself; the same as in its maps."""
        return self._encoder.peer_config(self._map(peer_id))

    def as_dict(self, peer_id: str) -> dict[str, Any]:
        """The message for a peer as plain values, for people."""
        message = pb.SyncResponse.FromString(
            self._encoded(peer_id).message(self.serial)
        )
        return MessageToDict(message, preserving_proto_field_name=True)

    def _take(self, serial: int, touched: Touched | None) -> Refresh:
        """Compute from what the database holds now; `touched` is what to read of it."""
        before = self.mesh.snapshot
        mesh = mesh_of(partial(load, before, touched))
        # Nothing is taken over before all is computed: who fails tries the same again.
        told = affected(self.mesh, mesh) if self.serial else None
        self.mesh, self.serial = mesh, serial
        self._encoder.use(mesh)
        deleted = frozenset(before.peers.keys() - mesh.snapshot.peers.keys())
        for peer_id in deleted:
            self._told.pop(peer_id, None)
        return Refresh(serial, told, deleted)

    def _map(self, peer_id: str) -> NetworkMap:
        try:
            return self.mesh.network_map(peer_id)
        except KeyError:
            raise NotFound.of("peer", peer_id) from None

    def _encoded(self, peer_id: str) -> Encoded:
        return self._encoder.encode(self._map(peer_id))
