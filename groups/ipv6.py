"""Who is in a group that has IPv6 has an address of it, nobody else.

Followed on every write of such a group's members, of the account's settings, and of new
peers, for nobody joins `All`. Without a range for IPv6 the peers keep what they have.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any

from django.db.models.signals import post_save, pre_save

from events.audit.audited import rows_created
from groups.models import Group, GroupPeer
from groups.selectors import all_group_id, members_among
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.selectors import stored_account
from meshmgmt.core import context
from meshmgmt.core.orderedlinks import members_changed
from meshmgmt.core.queries import batches
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer, PeerQuerySet
from meshmgmt.inventory.services.peers import free_ipv6


def register() -> None:
    """Follow memberships, settings and new peers."""
    members_changed.connect(
        _members_changed, sender=GroupPeer, dispatch_uid="groups.ipv6.members"
    )
    post_save.connect(_saved, sender=Account, dispatch_uid="groups.ipv6.settings")
    pre_save.connect(_adding, sender=Peer, dispatch_uid="groups.ipv6.peer")
    rows_created.connect(_added, sender=Peer, dispatch_uid="groups.ipv6.peers")


def follow_groups(peer_ids: Sequence[str]) -> None:
    """Give peers addresses of IPv6, or take them, as their groups have it."""
    if account := stored_account():
        for part in batches(peer_ids):
            _follow(account, Peer.objects.filter(pk__in=part))


def _members_changed(
    owner: Group, added: Sequence[str], removed: Sequence[str], **kwargs: Any
) -> None:
    account = stored_account()
    if account is not None and owner.pk in account.ipv6_enabled_groups:
        for part in batches([*added, *removed]):
            _follow(account, Peer.objects.filter(pk__in=part))


def _saved(instance: Account, raw: bool, **kwargs: Any) -> None:
    # raw: a fixture, whose peers come with the addresses they had.
    if not raw and instance.network_range_v6:
        _follow(instance, Peer.objects.all())


def _adding(instance: Peer, raw: bool, **kwargs: Any) -> None:
    # Before it is saved: who makes it shows the address.
    new = instance._state.adding and not raw and instance.ipv6 is None
    if new and (account := _all_have_it()):
        instance.ipv6 = free_ipv6(account.network_range_v6)


def _added(instances: Sequence[Peer], **kwargs: Any) -> None:
    without = [peer.pk for peer in instances if peer.ipv6 is None]
    if without and (account := _all_have_it()):
        for part in batches(without):
            _follow(account, Peer.objects.filter(pk__in=part))


def _all_have_it() -> Account | None:
    """Return the account if it has IPv6 for everybody."""
    account = stored_account()
    if account is None or not account.network_range_v6:
        return None
    enabled = account.ipv6_enabled_groups
    return account if enabled and all_group_id() in enabled else None


def _follow(account: Account, peers: PeerQuerySet) -> None:
    """Give addresses to those of the peers that shall have one, and take them away."""
    if not account.network_range_v6:
        return
    network = ipaddress.IPv6Network(account.network_range_v6)
    known = dict(peers.order_by("pk").values_list("pk", "ipv6"))
    entitled = members_among(account.ipv6_enabled_groups, list(known))
    # An address of another range is wrong, too: the range may be a new one.
    wrong = [
        pk
        for pk, address in known.items()
        if (not _is_in(network, address) if pk in entitled else address is not None)
    ]
    if not wrong:
        return
    with account_write(), context.scope(reason="the groups that have IPv6 changed"):
        for part in batches(wrong):
            for peer in Peer.objects.filter(pk__in=part):
                has = peer.pk in entitled
                # One by one: what is free is looked up in the table.
                peer.ipv6 = free_ipv6(account.network_range_v6) if has else None
                peer.save(update_fields=["ipv6"])


def _is_in(network: ipaddress.IPv6Network, address: str | None) -> bool:
    return address is not None and ipaddress.IPv6Address(address) in network
