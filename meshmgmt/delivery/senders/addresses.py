"""Connections to receivers, which no name may lead into the network of this service.

A name is resolved once, and the very address that was checked is connected to: a name
that means another address a moment later leads nowhere else.
"""

import ipaddress
import socket
import ssl
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

from django.conf import settings

from events import directory
from events.directory import Network
from meshmgmt.core.deadlines import TooLate, cut_after
from meshmgmt.delivery.senders import NotDelivered

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 10.0
WHOLE_SECONDS: Final = 20.0
"""For one attempt after the connection, however slowly the receiver talks."""
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
# A cloud's own services for its machines, at addresses that look like any others.
_METADATA: Final = (
    ipaddress.ip_network("168.63.129.16/32"),
    ipaddress.ip_network("192.0.0.0/24"),
)
# Special purposes that Python takes for addresses of anybody, by its version.
_SPECIAL: Final = (
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("2001::/23"),
    ipaddress.ip_network("3fff::/20"),
)


def is_open(
    address: Address, allowed: Collection[Network], own: Collection[Network]
) -> bool:
    """Tell whether a receiver may be there: outside, or inside and allowed.

    `own` are the networks of the mesh. An IPv6 address that stands for an IPv4 one is
    what that is.
    """
    if any(address in network for network in allowed):
        return True
    if any(address in network for network in (*_METADATA, *own)):
        return False
    inner = [found for found in _embedded(address) if found is not None]
    if inner:
        return all(is_open(found, allowed, own) for found in inner)
    return _is_global_unicast(address)


def _is_global_unicast(address: Address) -> bool:
    """Tell whether the address may be anybody's on the internet."""
    if any(address in network for network in _SPECIAL):
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: Address) -> Iterator[Address | None]:
    if isinstance(address, ipaddress.IPv6Address):
        # Any of these reaches an IPv4 host through a gateway or a tunnel.
        yield address.ipv4_mapped
        yield address.sixtofour
        yield from address.teredo or ()
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


@contextmanager
def connected(host: str, port: int, *, tls: bool) -> Iterator[socket.socket]:
    """Yield a connection to a receiver, and close it. Raises NotDelivered, OSError."""
    plain = _connection(host, port)
    try:
        with cut_after(WHOLE_SECONDS) as watch:
            watch(plain)
            with closing(_secured(plain, host) if tls else plain) as connection:
                connection.settimeout(ANSWER_SECONDS)
                yield connection
    except TooLate as error:
        raise NotDelivered(f"the receiver {error}") from error


def _secured(plain: socket.socket, host: str) -> socket.socket:
    # By the name that was asked for; the address was only the way.
    context = ssl.create_default_context()
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _connection(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # an empty label, or one of more than 63 characters
        raise NotDelivered(f"{host} is no name of a host") from error
    own = directory.overlay.only()
    allowed = settings.SVC.delivery_allowed_networks
    addresses = [
        text
        for text in (str(target[0]) for *_, target in found)
        # Without the zone that link-local addresses of IPv6 come with.
        if is_open(ipaddress.ip_address(text.partition("%")[0]), allowed, own)
    ]
    if not addresses:
        raise NotDelivered(
            f"{host} leads into an internal network: SVC_DELIVERY_ALLOWED_NETWORKS"
            " does not allow it"
        )
    return _first(addresses, port)


def _first(addresses: list[str], port: int) -> socket.socket:
    """Return a connection to the first that answers. Raises the last's OSError."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), CONNECT_SECONDS)
    return socket.create_connection((addresses[-1], port), CONNECT_SECONDS)
