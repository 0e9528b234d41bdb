"""What the client on a machine reports of it, as columns of its peer."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.dispatch import Signal

from events import places
from meshmgmt.core.addresses import host_of
from meshmgmt.core.transactions import account_write, queued_write
from meshmgmt.inventory.models import Peer

Facts = Mapping[str, Any]
"""Columns of a peer by name, of those below and of a machine's other facts."""

IN_MAPS: Final = frozenset({"version", "capabilities", "local_flags", "ssh_key"})
"""Facts that maps of other peers, or its own, depend on."""
IN_POSTURE_CHECKS: Final = frozenset(
    {
        *("go_os", "os_version", "kernel_version", "network_addresses", "files"),
        *("connection_ip", "country_code", "city_name"),
    }
)
"""Facts that maps depend on as soon as there are posture checks."""

decisive_report: Final = Signal()
"""Sent with `peer_id` in the write that stores facts which maps may depend on."""


def peer_report(
    peer: Peer, facts: Facts, *, posture_checks_exist: Callable[[], bool]
) -> set[str]:
    """Store what differs from what is known of a peer; return the changed columns.

    Only facts that maps depend on take the account write lock.
    """
    changed = {
        name: value for name, value in facts.items() if getattr(peer, name) != value
    }
    if not changed:
        return set()
    for_checks = not IN_POSTURE_CHECKS.isdisjoint(changed)
    decisive = not IN_MAPS.isdisjoint(changed) or (
        for_checks and posture_checks_exist()
    )
    with account_write() if decisive else queued_write():
        Peer.objects.filter(pk=peer.pk).unaudited_update(**changed)
        if decisive:
            decisive_report.send(sender=None, peer_id=peer.pk)
    if for_checks and not decisive and posture_checks_exist():
        # The first check came while this was written: who saw it may not have seen this.
        with account_write():
            decisive_report.send(sender=None, peer_id=peer.pk)
    for name, value in changed.items():
        setattr(peer, name, value)
    return set(changed)


def place_facts(source: str) -> dict[str, str]:
    """Return the columns that follow from the address a peer connects from."""
    address = host_of(source)
    if not address:
        return {}
    # Empty where nothing is known: what is stored is of the address before.
    place = places.look_up(address) or places.Place("", "", "")
    return {
        "connection_ip": address,
        "country_code": place.country_code,
        "city_name": place.city_name,
    }
