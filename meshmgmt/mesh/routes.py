"""Plain routes, and those to resources of networks: who gets them, and what their routing
peers let through.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from meshmgmt.mesh.firewall import DOMAIN_NETWORK, controlled, open_to_all
from meshmgmt.mesh.membership import Membership
from meshmgmt.mesh.policies import Policies, RuleInForce
from meshmgmt.mesh.result import RouteEntry, RouteRule
from meshmgmt.mesh.sides import NOBODY, Side, Union
from meshmgmt.mesh.snapshot import Peer, Resource, Route, Router, Snapshot


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
        return (link for link in self.all_links() if link[0].enabled)

    def all_links(self) -> Iterator[tuple[Route, Side]]:
        """All routes with their routing peers, whose ways disabled ones decide, too."""
        return zip(self._routes, self._routing, strict=True)

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
                yield _route_entry(self._routes[number], peer_id)
        # Who serves a route needs no way to those that back it up.
        # Also with one that is disabled, as in the reference.
        backed_up = {_group_of(self._routes[number]) for number in own}
        for number in used:
            route = self._routes[number]
            if _group_of(route) not in backed_up:
                for router in self._routing[number].ordered:
                    if seen.has(router):
                        yield _route_entry(route, router)

    def rules(self, peer: Peer, known: int) -> Iterator[RouteRule]:
        """What a peer lets through to its own routes, of the peers it knows (a mask)."""
        membership, ipv6 = self._membership, peer.has_ipv6
        known &= ~membership.roster.bit(peer.id)
        for number in self._own(peer.id):
            route = self._routes[number]
            if not route.enabled:
                continue
            entry = _route_entry(route, peer.id)
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


def _route_entry(route: Route, peer_id: str) -> RouteEntry:
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


class Networks:
    """Resources that accept rules lead to, and the peers that route them."""

    def __init__(
        self, snapshot: Snapshot, membership: Membership, policies: Policies
    ) -> None:
        self._membership = membership
        self._routers: defaultdict[str, dict[str, Router]] = defaultdict(dict)
        for router in snapshot.routers:
            if router.enabled:
                for peer_id in membership.side(router.peer_groups, router.peer).ordered:
                    self._routers[router.network][peer_id] = router  # the last one wins
        self._routed: defaultdict[str, list[str]] = defaultdict(list)
        for network, routers in self._routers.items():
            for peer_id in routers:
                self._routed[peer_id].append(network)
        roster = membership.roster
        self._sides = {
            network: Side(roster, roster.mask(routers), shared=True)
            for network, routers in self._routers.items()
        }
        self._rules = _rules_by_resource(snapshot.resources, policies.rules)
        self._resources: defaultdict[str, list[Resource]] = defaultdict(list)
        self._reached: defaultdict[int, list[Resource]] = defaultdict(list)
        for resource in snapshot.resources:
            rules = self._rules.get(resource.id, ())
            if any(rule.rule.accept for rule in rules):
                self._resources[resource.network].append(resource)
                for rule in rules:
                    # By identity: a hash of the rule would go over all that it names.
                    self._reached[id(rule)].append(resource)

    def behind(self, rule: RuleInForce) -> dict[Resource, dict[str, Router]]:
        """The resources that a rule leads to, with their routers by peer."""
        return {
            resource: self._routers[resource.network]
            for resource in self._reached.get(id(rule), ())
        }

    def entries(
        self, peer_id: str, rules: Iterable[RuleInForce]
    ) -> Iterator[RouteEntry]:
        """What a peer routes itself, and what it may use through other routers."""
        for network, resource in self._own(peer_id):
            yield _resource_entry(resource, self._routers[network][peer_id], peer_id)
        for resource in self._used(peer_id, rules):
            routers = self._routers[resource.network]
            # In a fixed order: a map in another order would be sent as another map.
            for router_id in sorted(routers):
                yield _resource_entry(resource, routers[router_id], router_id)

    def partners(self, peer_id: str, rules: Iterable[RuleInForce]) -> list[Side]:
        """The peers that use a router, and the routers that a peer uses."""
        users = [
            rule.sources
            for _, resource in self._own(peer_id)
            for rule in self._rules[resource.id]
            if rule.rule.accept
        ]
        used = {resource.network for resource in self._used(peer_id, rules)}
        return [
            *users,
            *(self._sides[network] for network in sorted(used & self._sides.keys())),
        ]

    def rules(self, peer: Peer, known: int) -> Iterator[RouteRule]:
        """What a router lets through to its resources, of the peers it knows (a mask)."""
        membership = self._membership
        # A router needs no leave for what it sends itself.
        known &= ~membership.roster.bit(peer.id)
        for network, resource in self._own(peer.id):
            entry = _resource_entry(resource, self._routers[network][peer.id], peer.id)
            for rule in self._rules[resource.id]:
                sources = membership.listed(rule.sources.mask & known)
                yield from controlled(
                    entry, rule.policy_id, rule.rule, sources, ipv6=peer.has_ipv6
                )

    def _own(self, peer_id: str) -> list[tuple[str, Resource]]:
        if peer_id not in self._routed:
            return []
        return [
            (network, resource)
            for network in sorted(self._routed[peer_id])
            for resource in self._resources[network]
        ]

    def _used(self, peer_id: str, rules: Iterable[RuleInForce]) -> list[Resource]:
        """Resources that a peer is a source of and does not route itself."""
        if not self._reached:
            return []
        own = self._routed.get(peer_id, ())
        found = {
            resource.id: resource
            for rule in rules
            if rule.rule.accept and peer_id in rule.sources.ids
            for resource in self._reached.get(id(rule), ())
            if resource.network not in own
        }
        return [found[id_] for id_ in sorted(found)]


def _rules_by_resource(
    resources: Iterable[Resource], rules: Iterable[RuleInForce]
) -> dict[str, list[RuleInForce]]:
    """The rules whose destination is a resource, or a group that lists it."""
    by_group: defaultdict[str, list[RuleInForce]] = defaultdict(list)
    by_id: defaultdict[str, list[RuleInForce]] = defaultdict(list)
    for rule in rules:
        target = rule.rule.destinations
        # By id alone: clients may call its type what they like.
        if target.resource is not None:
            by_id[target.resource].append(rule)
        for group in target.groups:
            by_group[group].append(rule)
    found: dict[str, list[RuleInForce]] = {}
    for resource in resources:
        if resource.enabled:
            reaching = {id(rule): rule for rule in by_id.get(resource.id, ())}
            for group in sorted(resource.groups):
                reaching.update((id(rule), rule) for rule in by_group.get(group, ()))
            if reaching:
                found[resource.id] = list(reaching.values())
    return found


def _resource_entry(resource: Resource, router: Router, peer_id: str) -> RouteEntry:
    return RouteEntry(
        id=f"{resource.id}:{peer_id}",
        net_id=resource.name,
        network=DOMAIN_NETWORK if resource.is_domain else resource.address,
        peer_id=peer_id,
        metric=router.metric,
        masquerade=router.masquerade,
        domains=(resource.address,) if resource.is_domain else (),
        keep_route=True,  # always, as in the reference
    )
