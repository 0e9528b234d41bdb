"""Network addresses: as limits count them, and which are safe to ask."""

import ipaddress
import urllib.parse
from typing import Final

IPV6_SITE: Final = 64
THIS_HOST: Final = ("localhost", "127.0.0.1", "::1")


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
