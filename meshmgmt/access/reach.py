"""Which peers see each other; pure, shared by DNS and the accessible-peers list.

Two peers see each other when an enabled accept rule of an enabled policy has one
on each side, whatever its direction, ports or drop rules say. Besides, the peers
that route an enabled route or network see those that use it.

Everything is reduced to links between two sides; a side is a set of group ids
and peer ids. Members of groups are looked up last, so one peer's answer needs
the members of a few groups only (`ReachGraph.targets` says which).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class RuleSide:
    """Sources or destinations of a rule: groups, or one peer or resource."""

    groups: frozenset[str] = frozenset()
    peer: str | None = None
    resource: str | None = None

    def __bool__(self) -> bool:
        return bool(self.groups or self.peer or self.resource)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a policy; `accept` is false for drop rules."""

    sources: RuleSide
    destinations: RuleSide
    enabled: bool = True
    accept: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    id: str
    name: str
    rules: tuple[Rule, ...]
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Route:
    """A route: its routing peers (`peer`, `peer_groups`) and who uses it (`groups`)."""

    id: str
    name: str
    groups: frozenset[str]
    peer: str | None = None
    peer_groups: frozenset[str] = frozenset()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Router:
    """A routing peer, or groups of them, of a network."""

    id: str
    network: str
    peer: str | None = None
    peer_groups: frozenset[str] = frozenset()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a network, with the groups it is in."""

    id: str
    network: str
    groups: frozenset[str] = frozenset()
    enabled: bool = True


class Cause(NamedTuple):
    """The object that makes two peers see each other.

    `kind` is `policy`, `route` or `router`; a router, which has no name, goes by
    the name of the policy that leads to its network.
    """

    kind: str
    id: str
    name: str


class Side(NamedTuple):
    """One of the two sides that meet: members of groups, and single peers."""

    groups: frozenset[str]
    peers: frozenset[str] = frozenset()


class Target(NamedTuple):
    """A side that somebody looks at, and the object that lets them."""

    cause: Cause
    side: Side


@dataclass(frozen=True, slots=True)
class ReachFacts:
    """All that decides who sees whom, apart from group membership."""

    policies: tuple[Policy, ...] = ()
    routes: tuple[Route, ...] = ()
    routers: tuple[Router, ...] = ()
    resources: tuple[Resource, ...] = ()


class ReachGraph:
    """Links between groups and peers, indexed by what stands on either side."""

    def __init__(self, facts: ReachFacts) -> None:
        self._targets: list[Target] = []
        self._by_group: defaultdict[str, list[int]] = defaultdict(list)
        self._by_peer: defaultdict[str, list[int]] = defaultdict(list)
        for cause, left, right in _links(facts):
            self._add(left, Target(cause, right))
            self._add(right, Target(cause, left))

    def targets(self, peer_id: str, groups: Iterable[str]) -> list[Target]:
        """What a peer with these groups looks at, in the order of the facts."""
        numbers = set(self._by_peer.get(peer_id, ()))
        for group in groups:
            numbers.update(self._by_group.get(group, ()))
        return [self._targets[number] for number in sorted(numbers)]

    def _add(self, viewers: Side, target: Target) -> None:
        number = len(self._targets)
        self._targets.append(target)
        for group in viewers.groups:
            self._by_group[group].append(number)
        for peer in viewers.peers:
            self._by_peer[peer].append(number)


def _links(facts: ReachFacts) -> Iterator[tuple[Cause, Side, Side]]:
    for cause, left, right in (*_policy_links(facts), *_route_links(facts.routes)):
        if any(left) and any(right):
            yield cause, left, right


def _policy_links(facts: ReachFacts) -> Iterator[tuple[Cause, Side, Side]]:
    networks = _Networks(facts.routers, facts.resources)
    for policy in facts.policies:
        if not policy.enabled:
            continue
        cause = Cause("policy", policy.id, policy.name)
        for rule in policy.rules:
            if not (rule.enabled and rule.accept):
                continue
            sources, destinations = _side(rule.sources), _side(rule.destinations)
            yield cause, sources, destinations
            for router in networks.behind(rule.destinations):
                yield Cause("router", router.id, policy.name), sources, _routing(router)
            for router in networks.behind(rule.sources):
                yield (
                    Cause("router", router.id, policy.name),
                    destinations,
                    _routing(router),
                )


def _route_links(routes: Iterable[Route]) -> Iterator[tuple[Cause, Side, Side]]:
    for route in routes:
        if route.enabled:
            cause = Cause("route", route.id, route.name)
            yield cause, _routing(route), Side(route.groups)


class _Networks:
    """Routers that lead to the resources a rule names."""

    def __init__(self, routers: Iterable[Router], resources: Iterable[Resource]):
        self._routers: defaultdict[str, list[Router]] = defaultdict(list)
        for router in routers:
            if router.enabled:
                self._routers[router.network].append(router)
        self._by_group: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._by_resource: dict[str, str] = {}
        for resource in resources:
            if resource.enabled:
                self._by_resource[resource.id] = resource.network
                for group in resource.groups:
                    self._by_group[group][resource.network] = None

    def behind(self, side: RuleSide) -> Iterator[Router]:
        if not self._routers:
            return
        networks: dict[str, None] = {}
        for group in sorted(side.groups):
            networks.update(self._by_group.get(group, {}))
        if side.resource in self._by_resource:
            networks[self._by_resource[side.resource]] = None
        for network in networks:
            yield from self._routers.get(network, ())


def _side(side: RuleSide) -> Side:
    return Side(side.groups, _one(side.peer))


def _routing(routing: Route | Router) -> Side:
    return Side(routing.peer_groups, _one(routing.peer))


def _one(peer: str | None) -> frozenset[str]:
    return frozenset() if peer is None else frozenset((peer,))
