"""Plain routes: who gets them, and what their routing peers let through."""

from collections import defaultdict
from collections.abc import Iterator

from meshmgmt.mesh.membership import Membership
from meshmgmt.mesh.policies import Policies, RuleInForce
from meshmgmt.mesh.result import RouteEntry, RouteRule
from meshmgmt.mesh.routerules import DOMAIN_NETWORK, controlled, open_to_all
from meshmgmt.mesh.sides import NOBODY, Side, Union
from meshmgmt.mesh.snapshot import Peer, Route, Snapshot


class Routes:
    """The routes of an account, found by users and by routing peers."""

    def __init__(
        self, snapshot: Snapshot, membership: Membership, policies: Policies
    ) -> None:
        self._membership = membership
        self._routes = snapshot.routes
        self._routing = [
            membership.side(route.peer_groups, route.peer) for route in self._routes
        ]
        self._by_user_group: defaultdict[str, list[int]] = defaultdict(list)
        self._by_router: defaultdict[str, list[int]] = defaultdict(list)
        for number, route in enumerate(self._routes):
            for peer_id in self._routing[number].ordered:
                self._by_router[peer_id].append(number)
            if route.enabled:
                for group in route.groups:
                    self._by_user_group[group].append(number)
        named = NOBODY.union(*(route.access_groups for route in self._routes))
        self._to_group: defaultdict[str, list[RuleInForce]] = defaultdict(list)
        for rule in policies.rules:
            for group in rule.rule.destinations.groups & named:
                self._to_group[group].append(rule)

    def links(self) -> Iterator[tuple[Route, Side]]:
        """The enabled routes with their routing peers."""
        for route, routing in zip(self._routes, self._routing, strict=True):
            if route.enabled:
                yield route, routing

    def used(self, peer_id: str) -> list[int]:
        """Numbers of the routes that a peer may use."""
        numbers: set[int] = set()
        for group in self._membership.groups_of(peer_id):
            if group in self._by_user_group:
                numbers.update(self._by_user_group[group])
        return sorted(numbers)

    def joining(self, peer_id: str, used: list[int]) -> list[tuple[Route, Side]]:
        """The routes that a peer uses or serves, with their routing peers."""
        own = [n for n in self._own(peer_id) if self._routes[n].enabled]
        numbers = sorted({*own, *used}) if own else used
        return [(self._routes[number], self._routing[number]) for number in numbers]

    def entries(
        self, peer_id: str, used: list[int], seen: Union
    ) -> Iterator[RouteEntry]:
        """A peer's own routes, then those of the peers it has `seen` by a policy."""
        own = self._own(peer_id)
        for number in own:
            if self._routes[number].enabled:
                yield _entry(self._routes[number], peer_id)
        # Who serves a route needs no way to those that back it up.
        # Also with one that is disabled, as in the reference.
        backed_up = {_group_of(self._routes[number]) for number in own}
        for number in used:
            route = self._routes[number]
            if _group_of(route) not in backed_up:
                for router in self._routing[number].ordered:
                    if seen.has(router):
                        yield _entry(route, router)

    def rules(self, peer: Peer, known: int) -> Iterator[RouteRule]:
        """What a peer lets through to its own routes, of the peers it knows (a mask)."""
        membership, ipv6 = self._membership, peer.has_ipv6
        known &= ~membership.roster.bit(peer.id)
        for number in self._own(peer.id):
            route = self._routes[number]
            if not route.enabled:
                continue
            entry = _entry(route, peer.id)
            if not route.access_groups:
                yield from open_to_all(entry, ipv6=ipv6)
                continue
            users = membership.side(route.groups).mask & known
            rules = {
                id(rule): rule
                for group in sorted(route.access_groups)
                for rule in self._to_group[group]
            }
            for rule in rules.values():
                sources = membership.listed(rule.sources.mask & users)
                yield from controlled(
                    entry, rule.policy_id, rule.rule, sources, ipv6=ipv6
                )

    def _own(self, peer_id: str) -> list[int]:
        return self._by_router.get(peer_id, [])


def _group_of(route: Route) -> tuple[str, str, tuple[str, ...]]:
    """What routes that back each other up have in common."""
    return route.net_id, route.network, route.domains


def _entry(route: Route, peer_id: str) -> RouteEntry:
    return RouteEntry(
        # Of several routing peers each is an entry of its own.
        id=route.id if route.peer is not None else f"{route.id}:{peer_id}",
        net_id=route.net_id,
        network=route.network or DOMAIN_NETWORK,
        peer_id=peer_id,
        metric=route.metric,
        masquerade=route.masquerade,
        domains=route.domains,
        keep_route=route.keep_route,
        skip_auto_apply=route.skip_auto_apply,
    )
