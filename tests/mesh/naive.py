"""The map of a peer written straight from the rules, pair by pair, without any sharing."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from meshmgmt.mesh.posture import passes
from meshmgmt.mesh.snapshot import (
    Peer,
    Policy,
    Resource,
    Route,
    Rule,
    RuleSide,
    Snapshot,
)
from tests.mesh.meshes import NOW

OF_NAMES = "192.0.2.0/32"
"""The network of what is routed by its name."""


def aim(resource: Resource) -> tuple[str, tuple[str, ...]]:
    """Return the network and the domains of routes to a resource."""
    if resource.is_domain:
        return OF_NAMES, (resource.address,)
    return resource.address, ()


@dataclass
class Map:
    """What a peer gets; peers by id."""

    remotes: set[str] = field(default_factory=set)
    grants: set[tuple[str, str, bool, str]] = field(default_factory=set)
    routes: set[tuple[Any, ...]] = field(default_factory=set)
    route_rules: set[tuple[Any, ...]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    zones: list[str] | None = None
    servers: list[str] | None = None
    logins: dict[str, set[str]] = field(default_factory=dict)
    files: set[tuple[str, ...]] = field(default_factory=set)


class Account:
    """Answers by looking through everything each time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.all = snapshot

    def takes_part(self, id_: str | None) -> bool:
        peer = self.all.peers.get(id_ or "")
        if peer is None or not peer.approved or peer.login_expired:
            return False
        if peer.user_id and self.all.users[peer.user_id].blocked:
            return False
        period = self.all.settings.login_period
        if period is not None and peer.login_expires and peer.user_id:
            return (peer.last_login or 0) + period > NOW
        return True

    def groups(self, id_: str) -> set[str]:
        return {"all"} | {g for g, ids in self.all.members.items() if id_ in ids}

    def on(self, id_: str, side: RuleSide, policy: Policy | None = None) -> bool:
        """Whether a peer is on a side; with a policy also whether it passes it."""
        if side.resource is not None or not self.takes_part(id_):
            return False
        if side.peer is not None:
            inside = side.peer == id_
        else:
            inside = bool(self.groups(id_) & side.groups)
        checks = [
            self.all.checks[c] for c in (policy.checks if policy else ())
            if c in self.all.checks
        ]  # fmt: skip
        return inside and passes(self.all.peers[id_], checks)

    def rules(self) -> list[tuple[Policy, Rule]]:
        return [
            (policy, rule)
            for policy in self.all.policies
            for rule in policy.rules
            if policy.enabled and rule.enabled
        ]

    def routes_for(self, route: Route, id_: str) -> bool:
        """Whether a peer routes a route."""
        return self.on(id_, RuleSide(groups=route.peer_groups, peer=route.peer))

    def router_metric(self, network: str, id_: str) -> int | None:
        """The metric with which a peer routes a network; the last router counts."""
        found = None
        for router in self.all.routers:
            side = RuleSide(groups=router.peer_groups, peer=router.peer)
            if router.enabled and router.network == network and self.on(id_, side):
                found = router.metric
        return found

    def leads_to(self, rule: Rule, resource: Resource) -> bool:
        target = rule.destinations
        return resource.enabled and (
            target.resource == resource.id or bool(target.groups & resource.groups)
        )

    def meets(self, me: str, other: str) -> bool:
        """Whether an accept rule has the two on its sides."""
        return me != other and any(
            rule.accept
            and self.on(one, rule.sources, policy)
            and self.on(two, rule.destinations)
            for policy, rule in self.rules()
            for one, two in ((me, other), (other, me))
        )

    def map(self, me: str) -> Map | None:
        if not self.takes_part(me):
            return None
        found = Map()
        others = [id_ for id_ in self.all.peers if id_ != me]
        by_policy = {id_ for id_ in others if self.meets(me, id_)}
        found.remotes = by_policy | self.by_networks(me)
        self.add_grants(me, found)
        advertisers = {
            id_
            for route in self.all.routes
            if route.enabled
            and (self.groups(me) & route.groups or self.routes_for(route, me))
            for id_ in others
            if self.routes_for(route, id_)
        }
        found.names = by_policy | advertisers
        known = found.remotes | advertisers
        self.add_networks(me, found, known)
        self.add_routes(me, found, by_policy, known)
        self.add_dns(me, found)
        self.add_ssh(me, found)
        self.add_files(me, found)
        return found

    def reaching(self, resource: Resource) -> list[tuple[Policy, Rule]]:
        return [(p, r) for p, r in self.rules() if self.leads_to(r, resource)]

    def by_networks(self, me: str) -> set[str]:
        found: set[str] = set()
        for resource, (policy, rule) in product(self.all.resources, self.rules()):
            if not (rule.accept and self.leads_to(rule, resource)):
                continue
            routers = {
                id_
                for id_ in self.all.peers
                if self.router_metric(resource.network, id_) is not None
            }
            if me in routers:
                found |= {p for p in self.all.peers if self.on(p, rule.sources, policy)}
            elif self.on(me, rule.sources, policy):
                found |= routers
        return found - {me}

    def add_grants(self, me: str, found: Map) -> None:
        for policy, rule in self.rules():
            for id_ in found.remotes:
                sends, takes = (
                    self.on(one, rule.sources, policy)
                    and self.on(two, rule.destinations)
                    for one, two in ((me, id_), (id_, me))
                )
                if takes or (sends and rule.bidirectional):
                    found.grants.add((policy.id, rule.id, True, id_))
                if sends or (takes and rule.bidirectional):
                    found.grants.add((policy.id, rule.id, False, id_))

    def add_networks(self, me: str, found: Map, known: set[str]) -> None:
        for resource in self.all.resources:
            reaching = self.reaching(resource)
            if not any(rule.accept for _, rule in reaching):
                continue
            mine = self.router_metric(resource.network, me)
            if mine is not None:
                self.add_entry(me, found, resource, me, mine)
                entry = (f"{resource.id}:{me}", *aim(resource))
                for policy, rule in reaching:
                    users = {p for p in known if self.on(p, rule.sources, policy)}
                    self.add_route_rules(me, found, entry, (policy, rule), users - {me})
            elif any(r.accept and self.on(me, r.sources, p) for p, r in reaching):
                for id_ in self.all.peers:
                    metric = self.router_metric(resource.network, id_)
                    if metric is not None:
                        self.add_entry(me, found, resource, id_, metric)

    def add_entry(
        self, me: str, found: Map, resource: Resource, router: str, metric: int
    ) -> None:
        network, domains = aim(resource)
        named = f"{resource.id}:{router}", resource.name
        self.add_route(me, found, (*named, network, router, metric, domains))

    def add_route(self, me: str, found: Map, entry: tuple[Any, ...]) -> None:
        id_, net_id, network, router, metric, domains = entry
        ipv6 = self.all.peers[me].has_ipv6
        if ":" not in network or ipv6:
            found.routes.add(entry)
        if network == "0.0.0.0/0" and ipv6:
            found.routes.add(
                (f"{id_}-v6-default", f"{net_id}-v6", "::/0", router, metric, domains)
            )

    def add_routes(
        self, me: str, found: Map, by_policy: set[str], known: set[str]
    ) -> None:
        mine = [route for route in self.all.routes if self.routes_for(route, me)]
        backed = {(route.net_id, route.network, route.domains) for route in mine}
        for route in self.all.routes:
            if not route.enabled:
                continue
            for router in self.all.peers:
                if not self.routes_for(route, router):
                    continue
                uses = (
                    router in by_policy
                    and self.groups(me) & route.groups
                    and (route.net_id, route.network, route.domains) not in backed
                )
                if router == me or uses:
                    id_ = route.id if route.peer else f"{route.id}:{router}"
                    where = id_, route.net_id, route.network or OF_NAMES, router
                    self.add_route(me, found, (*where, route.metric, route.domains))
        for route in mine:
            if route.enabled:
                self.add_own_rules(me, found, route, known)

    def add_own_rules(self, me: str, found: Map, route: Route, known: set[str]) -> None:
        id_ = route.id if route.peer else f"{route.id}:{me}"
        network = route.network or OF_NAMES
        ipv6 = self.all.peers[me].has_ipv6
        if not route.access_groups:
            anything = ("all", None, None, True, "", route.domains)
            if ":" not in network:
                found.route_rules.add((id_, network, ("0.0.0.0/0",), *anything))
            if ipv6 and (":" in network or route.domains):
                found.route_rules.add((id_, network, ("::/0",), *anything))
            if ipv6 and network == "0.0.0.0/0":
                twin = f"{id_}-v6-default"
                found.route_rules.add((twin, "::/0", ("::/0",), *anything))
            return
        for policy, rule in self.rules():
            if rule.destinations.groups & route.access_groups:
                users = {
                    peer
                    for peer in known - {me}
                    if self.on(peer, rule.sources, policy)
                    and self.groups(peer) & route.groups
                }
                entry = (id_, network, route.domains)
                self.add_route_rules(me, found, entry, (policy, rule), users)

    def add_route_rules(
        self,
        me: str,
        found: Map,
        entry: tuple[str, str, tuple[str, ...]],
        by: tuple[Policy, Rule],
        users: set[str],
    ) -> None:
        (id_, network, domains), (policy, rule) = entry, by
        peers: list[Peer] = [self.all.peers[user] for user in sorted(users)]
        v4 = tuple(f"{peer.ip}/32" for peer in peers)
        v6 = tuple(f"{peer.ipv6}/128" for peer in peers if peer.ipv6)
        ipv6 = self.all.peers[me].has_ipv6
        ssh = rule.protocol == "netbird-ssh"
        protocol = "tcp" if ssh else rule.protocol
        ports = rule.ports or ((22,) if ssh else ())
        entries: list[tuple[int | None, tuple[int, int] | None]]
        entries = [(port, None) for port in ports]
        entries = entries or [(None, ports_) for ports_ in rule.ranges]
        for port, ports_ in entries or [(None, None)]:
            what = (protocol, port, ports_, rule.accept, policy.id, domains)
            if ":" in network:
                if ipv6 and v6:
                    found.route_rules.add((id_, network, v6, *what))
                continue
            if v4:
                found.route_rules.add((id_, network, v4, *what))
            if ipv6 and v6 and domains:
                found.route_rules.add((id_, network, v6, *what))
            if ipv6 and v6 and network == "0.0.0.0/0":
                found.route_rules.add((f"{id_}-v6-default", "::/0", v6, *what))

    def add_dns(self, me: str, found: Map) -> None:
        groups, peer = self.groups(me), self.all.peers[me]
        if groups & self.all.unmanaged_groups:
            return
        found.zones = [
            zone.id
            for zone in self.all.zones
            if zone.enabled and zone.records and zone.groups & groups
        ]
        found.servers = [
            group.id
            for group in self.all.nameserver_groups
            if group.enabled
            and group.groups & groups
            and not {s.ip for s in group.nameservers} & {peer.ip, peer.ipv6}
        ]

    def add_ssh(self, me: str, found: Map) -> None:
        active = {user.id for user in self.all.users.values() if user.active}
        for _, rule in self.rules():
            if not (rule.accept and self.on(me, rule.destinations)):
                continue
            legacy = rule.protocol == "all" or (
                rule.protocol == "tcp"
                and (
                    {22, 22022} & set(rule.ports)
                    or any(a <= p <= b for a, b in rule.ranges for p in (22, 22022))
                )
            )
            if rule.protocol == "netbird-ssh" and rule.authorized:
                for group, logins in rule.authorized:
                    people = {
                        id_
                        for id_ in active
                        if group == "all" or group in self.all.users[id_].groups
                    }
                    for login in logins or ("*",):
                        if people:
                            found.logins.setdefault(login, set()).update(people)
                continue
            wanted = legacy and self.all.peers[me].ssh_enabled
            if active and (wanted or rule.protocol == "netbird-ssh"):
                found.logins.setdefault("*", set()).update(active)

    def add_files(self, me: str, found: Map) -> None:
        for policy, rule in self.rules():
            named = rule.sources.peer == me or self.groups(me) & rule.sources.groups
            if named and "scan" in policy.checks:
                found.files.add(("/av", "/m"))
