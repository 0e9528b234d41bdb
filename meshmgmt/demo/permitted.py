"""Who of the demo company may talk to whom, for the traffic that is made up."""

import ipaddress
import random
from dataclasses import dataclass
from typing import Final

from meshmgmt.access.rules.networks import parse_address
from meshmgmt.core import clock
from meshmgmt.inventory.models import NetworkResource, Peer, ResourceType
from meshmgmt.mesh import Mesh
from meshmgmt.meshstate import load

COMMON_PORTS: Final = (22, 53, 443, 443, 443, 5432)
"""What is used where a policy names no ports."""

BEHIND_NAMES: Final = ipaddress.IPv4Network("10.31.9.0/28")
"""Where the domains of resources lead."""

TRIES: Final = 100
"""A policy may allow everything; then there is nothing to refuse."""

Target = Peer | NetworkResource


@dataclass(frozen=True, slots=True)
class Conversation:
    """A source, what it talks to, the port there, and the policy (id) that lets it."""

    source: Peer
    target: Target
    port: int
    policy_id: str


class Permits:
    """The rules in force that accept, with the peers and resources on both sides."""

    def __init__(self) -> None:
        mesh = Mesh(load(), clock.now().timestamp())
        self._peers = Peer.objects.in_bulk()
        self._resources = NetworkResource.objects.in_bulk()
        self._rules: list[tuple[str, tuple[int, ...], list[Peer], list[Target]]] = [
            (
                entry.policy_id,
                entry.rule.ports,
                [self._peers[pk] for pk in entry.sources.ordered],
                [
                    *(self._peers[pk] for pk in entry.destinations.ordered),
                    *(self._resources[one.id] for one in mesh.networks.behind(entry)),
                ],
            )
            for entry in mesh.policies.rules
            if entry.rule.accept
        ]

    def conversation(self, chance: random.Random) -> Conversation:
        """Return one that a policy allows, never of a peer with itself."""
        while True:
            policy_id, ports, sources, targets = chance.choice(self._rules)
            if not sources or not targets:
                continue
            source, target = chance.choice(sources), chance.choice(targets)
            port = chance.choice(ports or COMMON_PORTS)
            if source.pk != target.pk:
                return Conversation(source, target, port, policy_id)

    def refused(self, chance: random.Random) -> Conversation | None:
        """Return one between peers that no policy allows; None when it is hard to find."""
        peers = list(self._peers.values())
        for _ in range(TRIES):
            source, target = chance.sample(peers, 2)
            port = chance.choice(COMMON_PORTS)
            if not self.allows(source.pk, target.pk, port):
                return Conversation(source, target, port, "")
        return None

    def allows(self, source_id: str, target_id: str, port: int) -> bool:
        """Tell whether a policy lets the source talk to the port of the target."""
        return any(
            source_id in {peer.pk for peer in sources}
            and target_id in {target.pk for target in targets}
            and (not ports or port in ports)  # none: all of them
            for _, ports, sources, targets in self._rules
        )


def address_of(target: Target, chance: random.Random) -> str:
    """Return an address behind the target; of a subnet, that of one of its hosts."""
    if isinstance(target, Peer):
        return target.ip
    is_name = target.type == ResourceType.DOMAIN
    text = parse_address(target.address).text
    network = BEHIND_NAMES if is_name else ipaddress.ip_network(text)
    if network.num_addresses == 1:
        return str(network.network_address)
    # The first names the network, the last is for broadcasts.
    return str(network[chance.randrange(1, network.num_addresses - 1)])
