"""What becomes of one packet, from the messages that agents are pushed and nothing else.

A reading of its own of what agents enforce: routes by the narrowest prefix, peers by their
allowed addresses, and rules one by one, those that drop before those that accept.
"""

import ipaddress
from collections.abc import Iterable
from typing import Any, NamedTuple

from meshmgmt.control.protocol import management_pb2 as pb

NUMBERS = {"tcp": pb.TCP, "udp": pb.UDP, "icmp": pb.ICMP, "other": -1}


class Packet(NamedTuple):
    """What the source `key` at `address` begins; `to` is an address or a domain."""

    protocol: str
    port: int
    to: str


class Wire:
    """The maps of all peers by key, and who has which address."""

    def __init__(self, maps: dict[str, pb.NetworkMap], owners: dict[str, str]) -> None:
        self.maps = maps
        self.owners = owners

    def arrives(self, key: str, packet: Packet) -> bool:
        """Whether a packet from the peer `key` gets where it goes, by every router."""
        if packet.to in self.owners:
            return self._is_let_in(key, self.owners[packet.to], packet)
        found = [
            (n, r) for r in self.maps[key].Routes if (n := near(r, packet.to)) >= 0
        ]
        narrowest = max((n for n, _ in found), default=-1)
        peers = [route.Peer for n, route in found if n == narrowest]
        return bool(peers) and all(
            peer == key or self._is_let_through(key, peer, packet) for peer in peers
        )

    def _address(self, of: str, known_to: str, like: str) -> str | None:
        """The address of a peer that another one knows, of the family of `like`."""
        wanted = ":" in like
        for remote in self.maps[known_to].remotePeers:
            if remote.wgPubKey == of:
                for prefix in remote.allowedIps:
                    if (":" in prefix) == wanted:
                        return prefix.split("/")[0]
        return None

    def _is_let_in(self, key: str, other: str, packet: Packet) -> bool:
        if key == other:
            return True
        source = self._address(key, other, packet.to)
        if self._address(other, key, packet.to) != packet.to or source is None:
            return False
        return passes(
            rule.Action
            for rule in self.maps[other].FirewallRules
            if rule.Direction == pb.RuleDirection.IN
            and rule.PeerIP == source
            and speaks(rule.Protocol, packet)
            and hits(int(rule.Port or 0), rule.PortInfo.range, packet)
        )

    def _is_let_through(self, key: str, router: str, packet: Packet) -> bool:
        is_domain = "/" not in packet.to and not is_address(packet.to)
        like = "0.0.0.0" if is_domain else packet.to
        source = self._address(key, router, like)
        if self._address(router, key, like) is None or source is None:
            return False

        def leads_there(rule: pb.RouteFirewallRule) -> bool:
            if is_domain:
                return any(below(each, packet.to) >= 0 for each in rule.domains)
            return holds(rule.destination, packet.to)

        return passes(
            rule.action
            for rule in self.maps[router].routesFirewallRules
            if any(holds(each, source) for each in rule.sourceRanges)
            and rule.isDynamic == is_domain
            and speaks(rule.protocol, packet)
            and leads_there(rule)
            and hits(rule.portInfo.port, rule.portInfo.range, packet)
        )


def passes(actions: Iterable[int]) -> bool:
    """What drops decides, then what accepts; what nothing is about is lost."""
    found = set(actions)
    return pb.RuleAction.ACCEPT in found and pb.RuleAction.DROP not in found


def hits(port: int, span: Any, packet: Packet) -> bool:
    """Whether a rule with this port or range, if it has one, is about a packet."""
    if port:
        return port == packet.port
    return not (span.start and span.end) or span.start <= packet.port <= span.end


def holds(prefix: str, address: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(prefix, strict=False)


def speaks(protocol: int, packet: Packet) -> bool:
    return protocol in (pb.RuleProtocol.ALL, NUMBERS[packet.protocol])


def near(route: pb.Route, to: str) -> int:
    """How narrowly a route names a destination, -1 if it does not."""
    if not is_address(to):
        return max((below(each, to) for each in route.Domains), default=-1)
    if route.Domains:
        return -1
    return int(route.Network.split("/")[1]) if holds(route.Network, to) else -1


def below(pattern: str, name: str) -> int:
    if pattern == name:
        return 1000
    return len(pattern) if pattern[:2] == "*." and name.endswith(pattern[1:]) else -1


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
