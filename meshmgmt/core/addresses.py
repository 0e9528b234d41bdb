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


def written(text: str) -> str:
    """Return the address of a client as a proxy or a socket wrote it, "" for none.

    Some write a port behind it (`192.0.2.1:40001`, `[2001:db8::1]:443`), and sockets of
    IPv6 an address of IPv4 as one of theirs (`::ffff:192.0.2.1`).
    """
    text = text.strip(' "')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def site(address: str) -> str:
    """Return the address that counts: who has one of IPv6 has 2**64 of them.

    What is no address, as `written` returns it, stays as it is.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(ipaddress.ip_network((parsed, IPV6_SITE), strict=False).network_address)
