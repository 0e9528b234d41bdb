"""Where traffic goes, and which routes and rules of routing peers are about that."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from meshmgmt.mesh.result import NetworkMap, RouteEntry
from meshmgmt.mesh.snapshot import Peer, Resource, Route

NOWHERE: Final = -1


class Place(NamedTuple):
    """One address, or one domain."""

    text: str
    is_domain: bool = False

    @property
    def is_ipv6(self) -> bool:
        return not self.is_domain and ":" in self.text

    def source(self, peer: Peer) -> tuple[str, str]:
        """How rules name a peer that sends something there: alone, and with all others."""
        if self.is_ipv6:
            return f"{peer.ipv6}/128", "::/0"
        return f"{peer.ip}/32", "0.0.0.0/0"

    def closeness(self, network: str, domains: Collection[str]) -> int:
        """How narrowly a prefix or domains name it; NOWHERE if they do not."""
        if self.is_domain:
            found = [_label_match(domain, self.text) for domain in domains]
            return max(found, default=NOWHERE)
        if domains or not network:
            return NOWHERE
        prefix, address = _parsed(network), ip_address(self.text)
        return prefix.prefixlen if address in prefix else NOWHERE


def best(entries: Iterable[RouteEntry], place: Place) -> list[RouteEntry]:
    """The entries that a peer sends traffic by: the narrowest of its routes."""
    near = [(place.closeness(entry.network, entry.domains), entry) for entry in entries]
    top = max((closeness for closeness, _ in near), default=NOWHERE)
    return [entry for closeness, entry in near if closeness == top != NOWHERE]


def closest(places: Iterable[Place], carrier: Resource | Route) -> int:
    """How narrowly a resource or route names one of the places."""
    if isinstance(carrier, Route):
        network, domains = carrier.network, carrier.domains
    else:
        is_domain = carrier.is_domain
        network = "" if is_domain else carrier.address
        domains = (carrier.address,) if is_domain else ()
    return max(place.closeness(network, domains) for place in places)


def all_places(
    resource: Resource, source: NetworkMap, others: Iterable[NetworkMap]
) -> list[Place]:
    """Addresses that stand for all of a resource: one of each part told apart."""
    if resource.is_domain:
        return [Place(resource.address, is_domain=True)]
    outer = _parsed(resource.address)
    prefixes = {entry.network for entry in source.routes if not entry.domains}
    for other in others:
        prefixes |= {r.destination for r in other.route_rules if not r.domains}
    # Nothing tells addresses apart between two edges of prefixes: the first stands for
    # all.
    starts = {int(outer[0])}
    for inner in map(_parsed, prefixes):
        if inner.version == outer.version and inner != outer and inner[0] in outer:
            starts |= {int(inner[0]), int(inner[-1]) + 1}
    make, last = type(outer[0]), int(outer[-1])
    return [Place(str(make(start))) for start in sorted(starts) if start <= last]


def _label_match(pattern: str, name: str) -> int:
    """Clients match a domain itself, or all below it where it begins with `*.`."""
    if pattern == name:
        # One more: the pattern of a wildcard may be as long as the name.
        return len(pattern) + 1
    below = pattern.startswith("*.") and name.endswith(pattern[1:])
    return len(pattern) if below else NOWHERE


@lru_cache(maxsize=16384)
def _parsed(network: str) -> IPv4Network | IPv6Network:
    return ip_network(network, strict=False)
