"""IP addresses as reporters write them."""

import ipaddress
from functools import lru_cache


@lru_cache(8192)
def canonical_address(value: str) -> str:
    """Return an IP address in its usual form, IPv4-mapped ones as IPv4, without a zone.

    Raises ValueError when it is none.
    """
    address = ipaddress.ip_address(value)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    # A zone is a text of any length, which means nothing on another host.
    return str(address).partition("%")[0]


@lru_cache(8192)
def host_of(address: str) -> str:
    """Return the IP address of `1.2.3.4`, `1.2.3.4:80`, `[::1]:80`; "" if none."""
    bare = address
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        return canonical_address(bare)
    except ValueError:
        return ""


def port_of(address: str) -> str:
    """Return the port of `1.2.3.4:80`, `[::1]:80`; "" without one."""
    has_port = address.count(":") == 1 or "]:" in address
    return address.rpartition(":")[2] if has_port else ""
