"""Writes of peers outside of the peer protocol: the API, the admin site, imports."""

import ipaddress
from collections.abc import Mapping
from typing import Any, Final

from meshmgmt.accounts.models import Account, User
from meshmgmt.core import context
from meshmgmt.core.errors import (
    InvalidArgument,
    NotFound,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.labels import free_label
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.registries import peer_groups
from meshmgmt.inventory.rules import Taken, Values, canonical_ip, peer_errors

KIND: Final = "peer"


def load_taken() -> Taken:
    """Return what the peers have now, the users and the account's ranges."""
    taken = Taken(users=frozenset(User.objects.values_list("pk", flat=True)))
    account = Account.objects.first()
    if account is not None:
        taken.network_range = account.network_range
        taken.network_range_v6 = account.network_range_v6
    columns = ("pk", "wg_public_key", "ip", "ipv6", "dns_label")
    for pk, key, ip, ipv6, label in Peer.objects.values_list(*columns):
        taken.keys[key] = pk
        taken.ips[ip] = pk
        taken.labels[label] = pk
        if ipv6:
            taken.ipv6s[ipv6] = pk
    return taken


def free_ip(taken: Taken) -> str:
    """Return a free IPv4 address. Raises InvalidArgument when there is none.

    The lowest, as long as one `taken` lives: the search goes on where it ended.
    """
    network = ipaddress.IPv4Network(taken.network_range)
    last = network.num_addresses - 2  # the last one is for broadcasts
    while taken.next_host <= last:
        address = str(network[taken.next_host])
        taken.next_host += 1
        if address not in taken.ips:
            return address
    message = f"the network range {taken.network_range} has no free address"
    raise InvalidArgument(message, [FieldError("ip", message)])


def peer_prepare(peer: Peer, values: Values, taken: Taken) -> list[FieldError]:
    """Set `values` on an unsaved or loaded peer and book them in `taken`.

    A new peer without address gets a free one; the DNS label follows the name. Returns
    the faults, in which case neither argument has changed.
    """
    wanted = dict(values)
    if peer._state.adding and not wanted.get("ip"):
        wanted["ip"] = free_ip(taken)
    errors = peer_errors(wanted, taken, peer.pk)
    if errors:
        return errors
    for name in ("ip", "ipv6", "connection_ip"):
        if wanted.get(name):
            wanted[name] = canonical_ip(wanted[name])
    if "ipv6" in wanted:
        wanted["ipv6"] = wanted["ipv6"] or None
    _unbook(peer, taken)
    renamed = peer._state.adding or wanted.get("name", peer.name) != peer.name
    for name, value in wanted.items():
        setattr(peer, name, value)
    if renamed:
        peer.dns_label = free_label(
            peer.name, peer.ip, taken=lambda label: label in taken.labels
        )
    _book(peer, taken)
    return []


def _unbook(peer: Peer, taken: Taken) -> None:
    for index, value in _unique(peer, taken):
        if index.get(value) == peer.pk:
            del index[value]


def _book(peer: Peer, taken: Taken) -> None:
    for index, value in _unique(peer, taken):
        if value:
            index[value] = peer.pk


def _unique(peer: Peer, taken: Taken) -> list[tuple[dict[str, str], str]]:
    return [
        (taken.keys, peer.wg_public_key),
        (taken.ips, peer.ip),
        (taken.ipv6s, peer.ipv6 or ""),
        (taken.labels, peer.dns_label),
    ]


def peer_create(**values: Any) -> Peer:
    """Create a peer from columns. Raises InvalidArgument, Conflict."""
    with account_write():
        peer = Peer()
        raise_field_errors(peer_prepare(peer, values, load_taken()))
        peer.save()
        return peer


def peer_update(*, peer_id: str, **values: Any) -> Peer:
    """Change the given columns of a peer. Raises NotFound, InvalidArgument, Conflict."""
    with account_write():
        peer = _peer(peer_id)
        raise_field_errors(peer_prepare(peer, values, load_taken()))
        peer.save()
        return peer


def peers_of_user_delete(user: User) -> None:
    """Delete the peers that `user` enrolled, for the user is about to be deleted."""
    Peer.objects.filter(user=user).delete()


def peers_of_user_expire(user: User) -> None:
    """Let the logins of the peers that `user` enrolled expire, for they are blocked."""
    with context.scope(reason="the owner of the peer was blocked"):
        for peer in Peer.objects.filter(user=user, login_expired=False).order_by("id"):
            peer.login_expired = True
            peer.save(update_fields=["login_expired"])


def peer_change(*, peer_id: str, changes: Mapping[str, Any]) -> Peer:
    """Change columns of a peer as the API may.

    Raises NotFound, InvalidArgument, Conflict for an address in use, and
    PreconditionFailed where the peer's state forbids a change.
    """
    with account_write():
        peer = _peer(peer_id)
        _check_expiration(peer, changes)
        _check_ipv6(peer, changes)
        return peer_update(peer_id=peer_id, **changes)


def peer_delete(*, peer_id: str) -> None:
    """Delete a peer and take it out of everything that names it.

    Raises NotFound, and PreconditionFailed for a network's router.
    """
    with account_write():
        _peer(peer_id).delete()


def _peer(peer_id: str) -> Peer:
    peer = Peer.objects.filter(pk=peer_id).first()
    if peer is None:
        raise NotFound.of(KIND, peer_id)
    return peer


def _check_expiration(peer: Peer, changes: Mapping[str, Any]) -> None:
    """Only what somebody signed in for can expire (reference API 13.1)."""
    if peer.user_id is not None:
        return
    for kind in ("login", "inactivity"):
        name = f"{kind}_expiration_enabled"
        if changes.get(name, getattr(peer, name)) != getattr(peer, name):
            message = (
                f"nobody owns this peer, so its {kind} expiration cannot be changed"
            )
            raise PreconditionFailed(message, [FieldError(name, message)])


def _check_ipv6(peer: Peer, changes: Mapping[str, Any]) -> None:
    """An IPv6 address needs a range, and a group of the peer that has IPv6."""
    if not changes.get("ipv6") or canonical_ip(changes["ipv6"]) == peer.ipv6:
        return
    account = Account.objects.first()
    if account is None or not account.network_range_v6:
        message = "IPv6 is not configured for this account"
        raise PreconditionFailed(message, [FieldError("ipv6", message)])
    groups = {group["id"] for group in peer_groups([peer.pk])(peer.pk)}
    if groups.isdisjoint(account.ipv6_enabled_groups):
        message = "this peer is in no group that has IPv6"
        raise PreconditionFailed(message, [FieldError("ipv6", message)])
