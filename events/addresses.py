"""IP addresses as reporters write them."""

import ipaddress
from functools import lru_cache
from typing import Final

_LONGEST: Final = 100
"""An address and the zone behind it, which is the name of an interface, are shorter."""


def canonical_address(value: str) -> str:
    """Return an IP address in its usual form, IPv4-mapped ones as IPv4, without a zone.

    Raises ValueError when it is none.
    """
    if address := _address(value):
        return address
    raise ValueError("is not an IP address")


def host_of(address: str) -> str:
    """Return the IP address of `1.2.3.4`, `1.2.3.4:80`, `[::1]:80`; "" if none."""
    if address.startswith("["):
        return _address(address[1:].partition("]")[0])
    has_port = address.count(":") == 1
    return _address(address.partition(":")[0] if has_port else address)


def _address(value: str) -> str:
    # Reporters write what they like, and what is remembered must be short.
    return _canonical(value) if len(value) <= _LONGEST else ""


@lru_cache(8192)
def _canonical(value: str) -> str:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    # A zone means nothing on another host.
    return str(address).partition("%")[0]


def port_of(address: str) -> str:
    """Return the port of `1.2.3.4:80`, `[::1]:80`; "" without one."""
    has_port = address.count(":") == 1 or "]:" in address
    return address.rpartition(":")[2] if has_port else ""
