"""What a known peer reports, and the peer with a public key."""

from collections.abc import Collection
from typing import Any, Final

from meshmgmt.access.models import PostureCheck
from meshmgmt.accounts.models import User
from meshmgmt.control.protocol import management_pb2
from meshmgmt.control.services.meta import facts_of
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core.queries import Prepared, batches, columns_of, loaded
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.reports import peer_report, place_facts
from meshmgmt.inventory.standing import DELETED
from observability.metrics import instruments

_META_UPDATES: Final = instruments.counter(
    "management.account.peer.meta.update.counter"
)
_PLACE: Final = frozenset({"connection_ip", "country_code", "city_name"})


# For each stream that begins: Django would take longer to write it than to ask it.
_BY_KEYS: Final = Prepared(
    lambda keys: (
        Peer.objects.filter(wg_public_key__in=keys)
        .order_by()
        .values_list(*columns_of(Peer), *columns_of(User, "user__"))
    )
)


def known_peer(public_key: str) -> Peer | None:
    """Return the peer with its user, None for a key that nobody knows."""
    return known_peers([public_key]).get(public_key)


def known_peers(public_keys: Collection[str]) -> dict[str, Peer]:
    """Return the peers with these public keys, with their users."""
    wanted = list(dict.fromkeys(public_keys))
    rows = (row for part in batches(wanted) for row in _BY_KEYS.rows(part))
    return {peer.wg_public_key: peer for peer in map(_with_user, rows)}


def _with_user(row: tuple[Any, ...]) -> Peer:
    own = len(Peer._meta.concrete_fields)
    peer = loaded(Peer, row[:own])
    if peer.user_id is not None:
        peer.user = loaded(User, row[own:])
    return peer


def stored_peer(peer_id: str) -> Peer:
    """Return the peer as the running write finds it. Raises Refused when it is gone."""
    peer = Peer.objects.select_related("user").filter(pk=peer_id).first()
    if peer is None:
        raise Refused(Code.PERMISSION_DENIED, DELETED)
    return peer


def take_report(
    peer: Peer, meta: management_pb2.PeerSystemMeta, source: str, **further: str
) -> None:
    """Store what a peer says of itself and where it comes from."""
    facts = {**facts_of(meta), **place_facts(source), **further}
    changed = peer_report(peer, facts, posture_checks_exist=PostureCheck.objects.exists)
    if changed - _PLACE - further.keys():
        _META_UPDATES.inc()
