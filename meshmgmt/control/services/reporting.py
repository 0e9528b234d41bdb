"""What a known peer reports, and the peer with a public key."""

from collections.abc import Collection
from typing import Final

from meshmgmt.access.models import PostureCheck
from meshmgmt.control.protocol import management_pb2
from meshmgmt.control.services.meta import facts_of
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.reports import peer_report, place_facts
from meshmgmt.inventory.standing import DELETED
from observability.metrics import instruments

_META_UPDATES: Final = instruments.counter(
    "management.account.peer.meta.update.counter"
)
_PLACE: Final = frozenset({"connection_ip", "country_code", "city_name"})


def known_peer(public_key: str) -> Peer | None:
    """Return the peer with its user, None for a key that nobody knows."""
    peers = Peer.objects.select_related("user")
    return peers.filter(wg_public_key=public_key).first()


def known_peers(public_keys: Collection[str]) -> dict[str, Peer]:
    """Return the peers with these public keys, with their users."""
    peers = Peer.objects.select_related("user").filter(wg_public_key__in=public_keys)
    return {peer.wg_public_key: peer for peer in peers.order_by()}


def stored_peer(peer_id: str) -> Peer:
    """Return the peer as the running write finds it. Raises Refused when it is gone."""
    peer = Peer.objects.select_related("user").filter(pk=peer_id).first()
    if peer is None:
        raise Refused(Code.PERMISSION_DENIED, DELETED)
    return peer


def take_report(
    peer: Peer, meta: management_pb2.PeerSystemMeta, source: str, **further: str
) -> None:
    """Store what a peer says of itself and where it comes from. Raises Refused."""
    facts = {**facts_of(meta), **place_facts(source), **further}
    changed = peer_report(peer, facts, posture_checks_exist=PostureCheck.objects.exists)
    if changed - _PLACE - further.keys():
        _META_UPDATES.inc()
