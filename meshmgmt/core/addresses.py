"""Network addresses as limits count them."""

import ipaddress
from typing import Final

IPV6_SITE: Final = 64


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
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_SITE), strict=False).network_address)
