"""Writes of peers outside of the peer protocol: the API, the admin site, imports."""

import ipaddress
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.selectors import stored_account
from meshmgmt.core import context
from meshmgmt.core.errors import (
    FieldError,
    InvalidArgument,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.queries import Prepared, batches, found
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory import contributions
from meshmgmt.inventory.addresses import (
    Network,
    is_for_peers,
    lowest_address,
    probed_address,
)
from meshmgmt.inventory.contributions import ShortGroup
from meshmgmt.inventory.labels import free_label
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.rules import UNIQUE, Taken, Values, canonical_ip, peer_errors

KIND: Final = "peer"
_RANGE_OF: Final = {"ip": "network_range", "ipv6": "network_range_v6"}
ADDRESSES: Final = tuple(_RANGE_OF)
"""Columns whose values are of the account's ranges."""


class _Column:
    """A unique column of the peers, asked for one value at a time."""

    def __init__(self, name: str) -> None:
        self._holder = Prepared(
            lambda value: (
                Peer.objects.filter(**{name: value}).order_by().values_list("pk")
            )
        )

    def get(self, value: str, default: str, /) -> str:
        """Return the id of the peer that has `value`, else `default`."""
        return next((pk for (pk,) in self._holder.plain(value)), default)

    def __contains__(self, value: object) -> bool:
        return bool(self.get(str(value), ""))


_COLUMNS: Final = {name: _Column(name) for name in UNIQUE}


class _Users:
    """The users, asked for one at a time."""

    def __contains__(self, user_id: object) -> bool:
        return User.objects.filter(pk=user_id).exists()


def asked_taken(account: Account) -> Taken:
    """Return what exists, for the write of one peer: nothing is read in advance."""
    return Taken(
        holders=_COLUMNS,
        users=_Users(),
        free_ip=lambda: _free("ip", account.network_range, field="ip"),
        ranges=_ranges(account),
    )


def _ranges(account: Account) -> dict[str, str]:
    return {column: getattr(account, setting) for column, setting in _RANGE_OF.items()}


class KnownPeers:
    """What peers have of the columns that no two share: read at once, for a write of many.

    Who changes a peer takes it out before, and puts it in again. Free addresses are drawn,
    or given `in_order`, the lowest first.
    """

    def __init__(
        self,
        account: Account,
        peers: Iterable[Peer],
        users: Container[str] = (),
        *,
        in_order: bool = False,
    ) -> None:
        self._holders: dict[str, dict[str, str]] = {name: {} for name in UNIQUE}
        for peer in peers:
            self.book(peer)
        self.taken = Taken(
            holders=self._holders,
            users=users,
            free_ip=self._lowest_ip if in_order else self._any_ip,
            ranges=_ranges(account),
        )
        self._next_host = 1

    def book(self, peer: Peer) -> None:
        """Note what a peer has."""
        for name, holders in self._holders.items():
            if value := getattr(peer, name):
                holders[value] = peer.pk

    def unbook(self, peer: Peer) -> None:
        """Forget what a peer has."""
        for name, holders in self._holders.items():
            holders.pop(getattr(peer, name) or "", None)

    def _any_ip(self) -> str:
        network = ipaddress.IPv4Network(self.taken.ranges["ip"])
        drawn = probed_address(network, self._holders["ip"].__contains__)
        return drawn or self._lowest_ip()

    def _lowest_ip(self) -> str:
        # The search goes on where it ended.
        network = ipaddress.IPv4Network(self.taken.ranges["ip"])
        found = lowest_address(network, self._holders["ip"], self._next_host)
        if found is None:
            raise no_free_address(self.taken.ranges["ip"])
        self._next_host = found[1] + 1
        return found[0]


def free_ipv6(network_range: str) -> str:
    """Return a free IPv6 address. Raises InvalidArgument when there is none."""
    # Settings and groups ask for it, too, which know no address of a peer.
    return _free("ipv6", network_range, field=_RANGE_OF["ipv6"])


def _free(column: str, network_range: str, *, field: str) -> str:
    network = ipaddress.ip_network(network_range)
    # Most ranges are nearly empty: some tries cost less than reading every address.
    found = probed_address(network, _COLUMNS[column].__contains__)
    if found is None:
        taken = set(Peer.objects.values_list(column, flat=True))
        lowest = lowest_address(network, taken)
        if lowest is None:
            raise no_free_address(network_range, field)
        found, _ = lowest
    return found


def no_free_address(network_range: str, field: str = "ip") -> InvalidArgument:
    """Return the error for a range whose addresses are all taken."""
    message = f"the network range {network_range} has no free address"
    return InvalidArgument.about(field, message)


def peer_prepare(peer: Peer, values: Values, taken: Taken) -> list[FieldError]:
    """Set `values` on an unsaved or loaded peer.

    A new peer without address gets a free one, and an empty IPv6 address of a stored one
    is as if it was not given; the DNS label follows the name, with the
    address behind it for an ephemeral peer. Returns the faults, in which case the peer
    has not changed.
    """
    wanted = dict(values)
    # Its groups tell whether a stored peer has one: nobody else takes it away.
    if not peer._state.adding and not wanted.get("ipv6"):
        wanted.pop("ipv6", None)
    # Stored peers never are: an empty address of theirs is left to the rules.
    addressless = peer._state.adding and not wanted.get("ip")
    if addressless:
        wanted.pop("ip", None)
    errors = peer_errors(wanted, taken, peer.pk)
    if errors:
        return errors
    # After the rules: that the range is full must not hide what else is wrong.
    if addressless:
        wanted["ip"] = taken.free_ip()
    for name in ("ip", "ipv6", "connection_ip"):
        if wanted.get(name):
            wanted[name] = canonical_ip(wanted[name])
    if "ipv6" in wanted:
        wanted["ipv6"] = wanted["ipv6"] or None
    # Compared before the values are set: the label follows a name that changes.
    renamed = peer._state.adding or wanted.get("name", peer.name) != peer.name
    for name, value in wanted.items():
        setattr(peer, name, value)
    if renamed:
        peer.dns_label = free_label(
            peer.name,
            peer.ip,
            taken=lambda label: taken.by_another("dns_label", label, peer.pk),
            suffixed=peer.ephemeral,
        )
    return []


def peer_prepare_again(peer: Peer, known: KnownPeers) -> None:
    """Make a peer that was deleted, and is not stored yet, fit in again.

    It keeps addresses and DNS label; where they do not fit any more, it gets others as a
    new peer does, and of IPv6 none. Raises InvalidArgument, and Conflict for a key that
    another peer has by now.
    """
    taken, label = known.taken, peer.dns_label
    if not taken.ranges["ipv6"]:
        peer.ipv6 = None
    values = {name: getattr(peer, name) for name in ADDRESSES}
    unfit = {error.field for error in peer_errors(values, taken, peer.pk)}
    values = {name: None if name in unfit else values[name] for name in values}
    values |= {"name": peer.name, "wg_public_key": peer.wg_public_key}
    raise_field_errors(peer_prepare(peer, values, taken))
    if not taken.by_another("dns_label", label, peer.pk):
        peer.dns_label = label
    known.book(peer)


def peer_create(**values: Any) -> Peer:
    """Create a peer from columns. Raises InvalidArgument, Conflict, PreconditionFailed."""
    with account_write():
        account = stored_account() or Account()
        peer = peer_insert(values, account)
        if values.get("ipv6"):
            _check_ipv6_of(peer.pk, account)
        return peer


def peer_insert(values: Values, account: Account) -> Peer:
    """Create a peer as `peer_create` does, in a write that fails with it.

    Who calls it puts a peer with an IPv6 address into a group that has IPv6.
    """
    peer = Peer()
    raise_field_errors(peer_prepare(peer, values, asked_taken(account)))
    peer.save(force_insert=True)
    return peer


def peer_update(*, peer_id: str, **values: Any) -> Peer:
    """Change the given columns of a peer.

    Raises NotFound, InvalidArgument, Conflict for an address in use, and
    PreconditionFailed where the peer's state forbids a change.
    """
    with account_write():
        peer = found(Peer, peer_id, kind=KIND)
        changes = _without_known_addresses(peer, values)
        account = stored_account() or Account()
        _check_expiration(peer, changes)
        if changes.get("ipv6"):
            _check_ipv6_of(peer.pk, account)
        raise_field_errors(peer_prepare(peer, changes, asked_taken(account)))
        # The other columns may be written meanwhile, without the lock.
        peer.save(update_fields=[*changes, "dns_label"])
        return peer


def addresses_put_back(peer_id: str, addresses: Values) -> None:
    """Give a peer addresses that it had; part of a write that ends in `addresses_check`.

    Raises NotFound, Conflict for an address in use.
    """
    peer = found(Peer, peer_id, kind=KIND)
    anywhere = asked_taken(Account(network_range=""))
    raise_field_errors(peer_errors(addresses, anywhere, peer.pk))
    for name, address in addresses.items():
        setattr(peer, name, address)
    peer.save(update_fields=[*addresses])


def addresses_check(peer_id: str, addresses: Values) -> None:
    """Look whether a stored peer may have its addresses; raises as `peer_update` does."""
    account = stored_account() or Account()
    if addresses.get("ipv6"):
        _check_ipv6_of(peer_id, account)
    raise_field_errors(peer_errors(addresses, asked_taken(account), peer_id))


def peers_of_user_delete(user: User, **kwargs: Any) -> None:
    """Delete the peers that `user` enrolled, for the user is about to be deleted."""
    Peer.objects.filter(user=user).delete()


def peers_of_user_expire(user: User, **kwargs: Any) -> None:
    """Let the logins of the peers that `user` enrolled expire, for they are blocked."""
    with context.scope(reason="the owner of the peer was blocked"):
        # One by one, for each has its event, which update() would not write.
        for peer in Peer.objects.filter(user=user, login_expired=False).order_by("id"):
            peer.login_expired = True
            peer.save(update_fields=["login_expired"])


def peer_delete(*, peer_id: str) -> None:
    """Delete a peer and take it out of everything that names it. Raises NotFound."""
    with account_write():
        found(Peer, peer_id, kind=KIND).delete()


def _without_known_addresses(peer: Peer, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the addresses that the peer has: clients send back what they read."""
    return {
        name: value
        for name, value in changes.items()
        if name not in {"ip", "ipv6"}
        or canonical_ip(value) != (getattr(peer, name) or "")
    }


def _check_expiration(peer: Peer, changes: Mapping[str, Any]) -> None:
    """Only what somebody signed in for can expire (reference API 13.1)."""
    # Whose it was or will be: both may change at once.
    if peer.user_id is not None or changes.get("user_id") is not None:
        return
    for kind in ("login", "inactivity"):
        name = f"{kind}_expiration_enabled"
        if changes.get(name, getattr(peer, name)) != getattr(peer, name):
            message = (
                f"nobody owns this peer, so its {kind} expiration cannot be changed"
            )
            raise PreconditionFailed.about(name, message)


def _check_ipv6_of(peer_id: str, account: Account) -> None:
    check_ipv6(account, contributions.peer_groups.only([peer_id])(peer_id))


def check_ipv6(account: Account, groups: Sequence[ShortGroup]) -> None:
    """An IPv6 address needs a range, and that one of the peer's groups has IPv6.

    Raises PreconditionFailed.
    """
    if not account.network_range_v6:
        message = "IPv6 is not configured for this account"
        raise PreconditionFailed.about("ipv6", message)
    ids = {group["id"] for group in groups}
    if ids.isdisjoint(account.ipv6_enabled_groups):
        message = "this peer is in no group that has IPv6"
        raise PreconditionFailed.about("ipv6", message)


def peers_renumber(account: Account, **kwargs: Any) -> None:
    """Give peers outside of the account's ranges addresses inside; part of a write.

    Without an IPv6 range no peer keeps an IPv6 address. Raises InvalidArgument when a
    range has too few addresses.
    """
    with context.scope(reason="the network range was changed"):
        for column, setting in _RANGE_OF.items():
            text = getattr(account, setting)
            network = ipaddress.ip_network(text) if text else None
            _renumber(column, setting, network)


def _renumber(column: str, setting: str, network: Network | None) -> None:
    rows = Peer.objects.exclude(**{column: None}).order_by("id")
    held = dict(rows.values_list("pk", column))
    outside = [pk for pk, text in held.items() if not _fits(text, network)]
    taken = set(held.values())
    number = 1
    portions = (
        Peer.objects.filter(pk__in=part).order_by("id") for part in batches(outside)
    )
    for peer in chain.from_iterable(portions):
        address = None
        if network is not None:
            # From the last one on: from the first it would take ever longer.
            found = lowest_address(network, taken, number)
            if found is None:
                message = f"{network} has too few addresses for {len(held)} peers"
                raise InvalidArgument.about(setting, message)
            address, number = found
            taken.add(address)
        setattr(peer, column, address)
        peer.save(update_fields=[column])


def _fits(text: str, network: Network | None) -> bool:
    address = ipaddress.ip_address(text)
    return network is not None and address in network and is_for_peers(address, network)
