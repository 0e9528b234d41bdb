"""Peer firewall rules, made once for all receivers that understand the same."""

import socket
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from meshmgmt.control.encoding.wire import Blocks, Field
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.mesh.firewall import Ports, Receiver, rule_ports
from meshmgmt.mesh.result import Grant
from meshmgmt.mesh.snapshot import Peer

_RULES: Final = Field(pb.NetworkMap, "FirewallRules")
_PEER_IP: Final = Field(pb.FirewallRule, "PeerIP")
_SOURCE_PREFIXES: Final = Field(pb.FirewallRule, "sourcePrefixes")
PROTOCOLS: Final = {
    "all": pb.RuleProtocol.ALL,
    "tcp": pb.RuleProtocol.TCP,
    "udp": pb.RuleProtocol.UDP,
    "icmp": pb.RuleProtocol.ICMP,
    "netbird-ssh": pb.RuleProtocol.TCP,
}


class FirewallRules:
    """Rules about the peers of one snapshot."""

    def __init__(self, peers: Mapping[str, Peer]) -> None:
        self._peers = peers
        self._about: dict[tuple[int, bool, Receiver], Blocks] = {}

    def of(self, grant: Grant, receiver: Receiver) -> list[bytes]:
        """The rules of a grant for such a receiver, as fields of a NetworkMap."""
        # By identity: rules live as long as the snapshot, and this no longer.
        key = (id(grant.rule), grant.inbound, receiver)
        blocks = self._about.get(key)
        if blocks is None:
            blocks = self._about[key] = Blocks(self._maker(grant, receiver))
        return blocks.of(grant.remotes)

    def _maker(self, grant: Grant, receiver: Receiver) -> Callable[[str], bytes]:
        """What makes the rules about one peer."""
        templates = _templates(grant, receiver)
        prefixes = receiver.source_prefixes

        def rules(remote: str) -> bytes:
            peer = self._peers[remote]
            targets = [_target(peer.ip, with_prefix=prefixes)]
            if receiver.ipv6 and peer.ipv6 is not None:
                targets.append(_target(peer.ipv6, with_prefix=prefixes))
            return b"".join(
                [
                    _RULES(target + template)
                    for target in targets
                    for template in templates
                ]
            )

        return rules


def _templates(grant: Grant, receiver: Receiver) -> list[bytes]:
    """The rules of a grant for each of its ports, without the address."""
    return [
        pb.FirewallRule(
            Direction=pb.RuleDirection.IN if grant.inbound else pb.RuleDirection.OUT,
            Action=pb.RuleAction.ACCEPT if grant.rule.accept else pb.RuleAction.DROP,
            Protocol=PROTOCOLS[grant.rule.protocol],
            Port="" if ports.port is None else str(ports.port),
            PortInfo=_port_info(ports, grant.rule.protocol),
            PolicyID=grant.policy_id.encode(),
        ).SerializeToString()
        for ports in rule_ports(grant.rule, receiver)
    ]


def _port_info(ports: Ports, protocol: str) -> pb.PortInfo | None:
    """The range; 0 to 0 stands for all ports of a protocol that has some."""
    if ports.port is not None or protocol in ("all", "icmp"):
        return None
    start, end = ports.range or (0, 0)
    return pb.PortInfo(range=pb.PortInfo.Range(start=start, end=end))


@lru_cache(maxsize=65536)
def _target(address: str, *, with_prefix: bool) -> bytes:
    """The fields that say whom a rule is about."""
    ip = _PEER_IP(address.encode())
    if not with_prefix:
        return ip
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    prefix = packed + bytes([8 * len(packed)])
    return ip + _SOURCE_PREFIXES(prefix)
