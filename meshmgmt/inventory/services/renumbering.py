"""New addresses for the peers that another network range leaves outside."""

import ipaddress
from itertools import chain
from typing import Any, Final

from meshmgmt.accounts.models import Account
from meshmgmt.core import context
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.queries import batches
from meshmgmt.inventory.addresses import Network, is_for_peers, lowest_address
from meshmgmt.inventory.models import Peer

_RANGE_OF: Final = {"ip": "network_range", "ipv6": "network_range_v6"}


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
