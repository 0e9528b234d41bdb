"""Who of the demo company may talk to whom, for the traffic that is made up."""

import ipaddress
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from groups.models import GroupResource
from groups.selectors import group_members
from meshmgmt.access.models import Action, PolicyRule, RuleDestination, RuleSource
from meshmgmt.core.orderedlinks import ids_by_owner
from meshmgmt.inventory.models import NetworkResource, Peer, ResourceType

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
    """The enabled rules that accept, with the peers and resources on both sides."""

    def __init__(self) -> None:
        rules = PolicyRule.objects.filter(
            enabled=True, policy__enabled=True, action=Action.ACCEPT
        )
        sources, destinations = ids_by_owner(RuleSource), ids_by_owner(RuleDestination)
        named = {pk for lists in (sources, destinations) for pk in _all(lists.values())}
        self._peers = Peer.objects.in_bulk()
        self._members = group_members(named)
        self._resources = _resources_by_group()
        sides = [
            (rule, self._peers_of(sources[rule.pk]), destinations[rule.pk])
            for rule in rules.order_by("id")
            if rule.pk in sources and rule.pk in destinations
        ]
        self._rules = [
            (rule, left, self._targets_of(groups)) for rule, left, groups in sides
        ]

    def conversation(self, chance: random.Random) -> Conversation:
        """Return one that a policy allows, never of a peer with itself."""
        while True:
            rule, sources, targets = chance.choice(self._rules)
            if not sources or not targets:
                continue
            source, target = chance.choice(sources), chance.choice(targets)
            port = int(chance.choice(rule.ports or COMMON_PORTS))
            if source.pk != target.pk:
                return Conversation(source, target, port, rule.policy_id)

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
            and (not rule.ports or str(port) in rule.ports)
            for rule, sources, targets in self._rules
        )

    def _peers_of(self, groups: Iterable[str]) -> list[Peer]:
        ids = sorted(set().union(*(self._members[group] for group in groups)))
        return [self._peers[pk] for pk in ids]

    def _targets_of(self, groups: Iterable[str]) -> list[Target]:
        resources = [one for group in groups for one in self._resources.get(group, ())]
        return [*self._peers_of(groups), *resources]


def address_of(target: Target, chance: random.Random) -> str:
    """Return an address behind the target; of a subnet, that of one of its hosts."""
    if isinstance(target, Peer):
        return target.ip
    is_name = target.type == ResourceType.DOMAIN
    network = BEHIND_NAMES if is_name else ipaddress.ip_network(target.address)
    if network.num_addresses == 1:
        return str(network.network_address)
    return str(network[chance.randrange(1, network.num_addresses - 1)])


def _resources_by_group() -> dict[str, list[NetworkResource]]:
    known = NetworkResource.objects.filter(enabled=True).in_bulk()
    found: dict[str, list[NetworkResource]] = {}
    for link in GroupResource.objects.order_by("group_id", "position", "id"):
        if link.resource_id in known:
            found.setdefault(link.group_id, []).append(known[link.resource_id])
    return found


def _all(lists: Iterable[list[str]]) -> Iterable[str]:
    return (entry for entries in lists for entry in entries)
