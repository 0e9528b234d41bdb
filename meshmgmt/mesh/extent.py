"""Whom one peer may meet: what must be known of the account to answer for it alone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

from meshmgmt.mesh.snapshot import Route, Router, Rule, RuleSide, Snapshot


class Extent(NamedTuple):
    """Groups whose members, and single peers, that something may be about."""

    groups: frozenset[str]
    peers: frozenset[str]

    @classmethod
    def of(cls, sides: Iterable[RuleSide]) -> Self:
        """What is named by sides of rules."""
        named = list(sides)
        return cls(
            frozenset().union(*(side.groups for side in named)),
            frozenset(side.peer for side in named if side.peer is not None),
        )


def extent(snapshot: Snapshot, peer_id: str, groups: frozenset[str]) -> Extent:
    """All that a peer in these groups may meet, by rules and routes of any state.

    It asks for no members, so `snapshot.peers` and `snapshot.members` may be empty. It
    may name more than the peer meets in the end, never less.
    """
    return Extent.of(_Around(snapshot, peer_id, groups).sides())


def routing(snapshot: Snapshot) -> Extent:
    """The peers that route anything, with routes and routers of any state."""
    every: tuple[Route | Router, ...] = (*snapshot.routes, *snapshot.routers)
    return Extent.of(map(routing_side, every))


def routing_side(routing: Route | Router) -> RuleSide:
    """The routing peers that something names, as a side of a rule."""
    return RuleSide(groups=routing.peer_groups, peer=routing.peer)


class _Around:
    """The account seen from one peer and its groups."""

    def __init__(
        self, snapshot: Snapshot, peer_id: str, groups: frozenset[str]
    ) -> None:
        self._all = snapshot
        self._peer_id = peer_id
        self._groups = groups
        self._networks = {r.network for r in snapshot.routers if self._routes(r)}
        self._behind: defaultdict[str, set[str]] = defaultdict(set)
        for resource in snapshot.resources:
            for id_ in (resource.id, *resource.groups):
                self._behind[id_].add(resource.network)

    def sides(self) -> Iterator[RuleSide]:
        for policy in self._all.policies:
            for rule in policy.rules:
                yield from self._of_rule(rule)
        for route in self._all.routes:
            routes = self._routes(route)
            if routes or not self._groups.isdisjoint(route.groups):
                yield routing_side(route)
            if routes and route.access_groups:  # it lets in who has the route, too
                yield RuleSide(groups=route.groups)

    def _of_rule(self, rule: Rule) -> Iterator[RuleSide]:
        if self._on(rule.sources):
            yield rule.destinations
            networks = self._networks_behind(rule.destinations)
            for router in self._all.routers if networks else ():
                if router.network in networks:
                    yield routing_side(router)
        # Rules for one direction, too: their sources send to it, so it must know them.
        if self._on(rule.destinations) or self._guards(rule.destinations):
            yield rule.sources

    def _guards(self, side: RuleSide) -> bool:
        """Tell whether the peer routes what a rule leads to, and lets its sources in."""
        if self._networks & self._networks_behind(side):
            return True
        return any(
            self._routes(route) and not route.access_groups.isdisjoint(side.groups)
            for route in self._all.routes
        )

    def _networks_behind(self, side: RuleSide) -> set[str]:
        """The networks of the resources that a side names."""
        found: set[str] = set()
        for id_ in (side.resource or "", *side.groups):
            found |= self._behind.get(id_, set())
        return found

    def _on(self, side: RuleSide) -> bool:
        return side.names(self._peer_id, self._groups)

    def _routes(self, routing: Route | Router) -> bool:
        return self._on(routing_side(routing))
