"""Addresses that peers may have: pure.

The first and the last address of a range are not for hosts, and the one before the last
is where peers without a kernel interface answer DNS queries.
"""

import ipaddress
import random
from collections.abc import Callable, Collection
from itertools import count, islice
from typing import Final

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
PROBES: Final = 16


def hosts(network: Network) -> range:
    """Return the numbers, counted from the range's beginning, that peers may have."""
    return range(1, network.num_addresses - 2)


def is_for_peers(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: Network
) -> bool:
    """Tell whether a peer may have `address`, which is in `network`."""
    return int(address) - int(network.network_address) in hosts(network)


def probed_address(network: Network, is_taken: Callable[[str], bool]) -> str | None:
    """Return a free address by trying some; None when all of them are taken."""
    numbers = hosts(network)
    tries = (random.randrange(numbers.start, numbers.stop) for _ in count())  # noqa: S311 - no secret
    # Lazily: mostly the first is free, and each costs its asker a query.
    addresses = (str(network[number]) for number in islice(tries, PROBES))
    return next((text for text in addresses if not is_taken(text)), None)


def lowest_address(
    network: Network, taken: Collection[str], start: int = 1
) -> tuple[str, int] | None:
    """Return the first free address from number `start` on, and its number."""
    for number in range(start, hosts(network).stop):
        text = str(network[number])
        if text not in taken:
            return text, number
    return None
