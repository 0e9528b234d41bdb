"""Which peers see each other; pure, shared by DNS and the accessible-peers list.

Two peers see each other when an enabled accept rule of an enabled policy has one
on each side, whatever its direction, ports or drop rules say. Besides, the peers
that route an enabled route or network see those that use it.

Everything is reduced to links between two sides; a side is a set of group ids
and peer ids. Members of groups are looked up last, so one peer's answer needs
the members of a few groups only (`ReachGraph.targets` says which).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class RuleSide:
    """Sources or destinations of a rule: groups, or one peer or resource."""

    groups: frozenset[str] = frozenset()
    peer: str | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a policy; `accept` is false for drop rules."""

    sources: RuleSide
    destinations: RuleSide
    enabled: bool = True
    accept: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its rules in order."""

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


@dataclass(frozen=True, slots=True)
class Cause:
    """The object that makes two peers see each other.

    `kind` is `policy`, `route` or `router`; a router, which has no name, goes by
    the name of the policy that leads to its network.
    """

    kind: str
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """One side a peer looks at, and the object that lets it."""

    cause: Cause
    groups: frozenset[str]
    peers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Side:
    groups: frozenset[str]
    peers: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.groups or self.peers)


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
        self._by_group: defaultdict[str, set[int]] = defaultdict(set)
        self._by_peer: defaultdict[str, set[int]] = defaultdict(set)
        for cause, left, right in _links(facts):
            self._add(cause, left, right)
            self._add(cause, right, left)

    def target_numbers(self, peer_id: str, groups: Collection[str]) -> list[int]:
        """Numbers of the targets of a peer, in the order of the facts."""
        numbers: set[int] = set()
        if peer_id in self._by_peer:
            numbers |= self._by_peer[peer_id]
        for group in groups:
            if group in self._by_group:
                numbers |= self._by_group[group]
        return sorted(numbers)

    def targets(self, peer_id: str, groups: Collection[str]) -> list[Target]:
        """What a peer with these groups looks at, in the order of the facts."""
        return [self._targets[n] for n in self.target_numbers(peer_id, groups)]

    def target(self, number: int) -> Target:
        """The target with this number."""
        return self._targets[number]

    def _add(self, cause: Cause, viewer: _Side, seen: _Side) -> None:
        number = len(self._targets)
        self._targets.append(Target(cause, seen.groups, seen.peers))
        for group in viewer.groups:
            self._by_group[group].add(number)
        for peer in viewer.peers:
            self._by_peer[peer].add(number)


class Visibility(Generic[Entry]):
    """Peers seen by peers, given the members of groups.

    `entry` makes what is told about a seen peer from its id and the cause; None
    leaves the peer out. Entries are made once per target and shared by all peers.
    """

    def __init__(
        self,
        graph: ReachGraph,
        members: Mapping[str, Collection[str]],
        entry: Callable[[str, Cause], Entry | None],
    ) -> None:
        self._graph = graph
        self._members = members
        self._entry = entry
        self._collected: dict[int, dict[str, Entry]] = {}

    def visible_from(self, peer_id: str, groups: Collection[str]) -> dict[str, Entry]:
        """Peers that `peer_id`, a member of `groups`, sees: id to entry.

        The first cause in the order of the facts counts. The peer itself is not
        among them.
        """
        seen: dict[str, Entry] = {}
        for number in reversed(self._graph.target_numbers(peer_id, groups)):
            seen.update(self._collect(number))
        seen.pop(peer_id, None)
        return seen

    def _collect(self, number: int) -> dict[str, Entry]:
        collected = self._collected.get(number)
        if collected is None:
            target = self._graph.target(number)
            ids = set(target.peers).union(
                *(self._members.get(group, ()) for group in target.groups)
            )
            made = ((id_, self._entry(id_, target.cause)) for id_ in ids)
            collected = {id_: entry for id_, entry in made if entry is not None}
            self._collected[number] = collected
        return collected


def causes(
    graph: ReachGraph, members: Mapping[str, Collection[str]]
) -> Visibility[Cause]:
    """Visibility that tells the cause of each peer seen."""
    return Visibility(graph, members, lambda _, cause: cause)


def _links(facts: ReachFacts) -> Iterator[tuple[Cause, _Side, _Side]]:
    for cause, left, right in (
        *_policy_links(facts),
        *_route_links(facts.routes),
    ):
        if left and right:
            yield cause, left, right


def _policy_links(facts: ReachFacts) -> Iterator[tuple[Cause, _Side, _Side]]:
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


def _route_links(routes: Iterable[Route]) -> Iterator[tuple[Cause, _Side, _Side]]:
    for route in routes:
        if route.enabled:
            cause = Cause("route", route.id, route.name)
            yield cause, _routing(route), _Side(route.groups, frozenset())


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
        networks: dict[str, None] = {}
        for group in sorted(side.groups):
            networks.update(self._by_group.get(group, {}))
        if side.resource in self._by_resource:
            networks[self._by_resource[side.resource]] = None
        for network in networks:
            yield from self._routers.get(network, ())


def _side(side: RuleSide) -> _Side:
    return _Side(side.groups, _one(side.peer))


def _routing(routing: Route | Router) -> _Side:
    return _Side(routing.peer_groups, _one(routing.peer))


def _one(peer: str | None) -> frozenset[str]:
    return frozenset() if peer is None else frozenset((peer,))
