"""Network addresses: as others write them, as limits count them, which are safe to ask."""

import ipaddress
import urllib.parse
from functools import lru_cache
from typing import Final

IPV6_SITE: Final = 64
THIS_HOST: Final = ("localhost", "127.0.0.1", "::1")
_LONGEST: Final = 100
"""An address and the zone behind it, which is the name of an interface, are shorter."""


def is_safe_url(url: str) -> bool:
    """Tell whether nobody between can answer in the place of the host that `url` names.

    Only HTTPS tells who answers; HTTP is for this host.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        local = parts.hostname in THIS_HOST
    except ValueError:
        return False
    safe = parts.scheme == "https" or (parts.scheme == "http" and local)
    return safe and bool(parts.hostname)


def site(address: str) -> str:
    """Return the address that counts: who has one of IPv6 has 2**64 of them.

    What is no address stays as it is.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(ipaddress.ip_network((parsed, IPV6_SITE), strict=False).network_address)


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
