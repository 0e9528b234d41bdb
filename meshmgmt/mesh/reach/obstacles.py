"""What would let traffic through, and what is in the way of it: for people."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.extent import routing_side
from meshmgmt.mesh.firewall import with_ssh_port
from meshmgmt.mesh.hints import in_the_way, names
from meshmgmt.mesh.membership import absence
from meshmgmt.mesh.posture import shortfalls
from meshmgmt.mesh.reach.model import Obstacle, called, obstacle
from meshmgmt.mesh.reach.traffic import (
    Filter,
    Part,
    Slice,
    Traffic,
    described,
    judged,
    matching,
    opened,
    slices,
)
from meshmgmt.mesh.snapshot import Peer, Policy, Resource, Route, Router, Rule, RuleSide

_NOT_OF_MEETING: Final = ("direction", "group")
_MODERN: Final = "development"


class _End(NamedTuple):
    """What a side of a rule may name, by its id or its groups."""

    thing: Peer | Resource | Route
    groups: frozenset[str]

    @property
    def peer(self) -> Peer | None:
        return self.thing if isinstance(self.thing, Peer) else None

    def on(self, side: RuleSide) -> bool:
        return side.names(self.thing.id, self.groups)


class Obstacles:
    """What is in the way of one peer's traffic, told what becomes of each part of it."""

    def __init__(
        self, mesh: Mesh, source: Peer, traffic: Traffic, parts: Sequence[Part]
    ) -> None:
        self._mesh = mesh
        self._all = mesh.snapshot
        self._peer = source
        self._source = self._end(source)
        self._traffic = traffic
        self._parts = parts
        self._some = any(part.passes for part in parts)
        lost = [packets for packets, decider in parts if decider is None]
        self._lacking = lost if parts else list(slices(traffic, ()))
        self._dropping: defaultdict[str, list[Slice]] = defaultdict(list)
        for packets, by in parts:
            if by is not None and not by.accept:
                self._dropping[by.policy_id].append(packets)

    def to_peer(self, target: Peer, *, ipv6: bool) -> Iterator[Obstacle]:
        """Obstacles between two peers."""
        ends = (self._peer, target)
        found = [each for peer in ends for each in self._absent(peer)]
        found += [each for peer in ends if ipv6 for each in _no_ipv6(peer)]
        found += self._dropped()
        yield from found
        yield from self._of_rules(self._end(target), alone=not found)

    def to_places(
        self, name: str, carriers: Sequence[Resource | Route], *, ipv6: bool
    ) -> Iterator[Obstacle]:
        """Obstacles to what is routed, told what could carry it there."""
        yield from self._absent(self._peer)
        yield from self._dropped()
        for carrier in carriers:
            found = list(self._of_carrier(carrier, ipv6=ipv6))
            yield from found
            if isinstance(carrier, Resource):
                end = _End(carrier, carrier.groups)
                yield from self._of_rules(end, alone=not found)
            elif carrier.access_groups:
                end = _End(carrier, carrier.access_groups)
                yield from self._of_rules(end, alone=not found)
        if not carriers:
            yield obstacle("unrouted", to=name)

    def _of_carrier(
        self, carrier: Resource | Route, *, ipv6: bool
    ) -> Iterator[Obstacle]:
        """What keeps the source from being led to it, whatever rules say."""
        is_route = isinstance(carrier, Route)
        if not carrier.enabled:
            yield obstacle(f"{'route' if is_route else 'resource'}_disabled", carrier)
        yield from _no_ipv6(self._peer) if ipv6 else ()
        if isinstance(carrier, Route):
            yield from self._undistributed(carrier)
            yield from self._no_routing_peer(carrier, [carrier], ipv6=ipv6)
            yield from self._unmet(carrier)
            return
        routers = [r for r in self._all.routers if r.network == carrier.network]
        enabled = [router for router in routers if router.enabled]
        if routers and not enabled:
            yield obstacle("router_disabled", carrier)
        else:
            yield from self._no_routing_peer(carrier, enabled, ipv6=ipv6)

    def _undistributed(self, route: Route) -> Iterator[Obstacle]:
        if self._source.groups.isdisjoint(route.groups):
            groups = self._group_names(route.groups)
            wording = "distribution" if groups else "distribution nobody"
            yield obstacle(wording, route, who=called(self._peer), groups=groups)

    def _no_routing_peer(
        self, it: Resource | Route, routings: Iterable[Route | Router], *, ipv6: bool
    ) -> Iterator[Obstacle]:
        """Why nobody routes something; nothing if somebody does."""
        peers = [peer for each in routings for peer in self._routing(each)]
        present = [p for p in peers if not absence(p, self._all, self._mesh.now)]
        if not peers:
            yield obstacle("no_routing_peer", it)
        # One that takes part is enough; of none, all are told why.
        for peer in present or peers:
            yield from self._absent(peer)
        if ipv6 and not any(peer.has_ipv6 for peer in present):
            yield from chain.from_iterable(map(_no_ipv6, present))

    def _unmet(self, route: Route) -> Iterator[Obstacle]:
        """What keeps the source from meeting routing peers; nothing if it meets one."""
        sight = self._mesh.sight(self._peer.id)
        routing = [p for p in self._routing(route) if p.id != self._peer.id]
        if sight is None or any(sight.by_policy.has(peer.id) for peer in routing):
            return
        for target in map(self._end, routing):
            every = chain.from_iterable(self._candidates(target, ()))
            found = [each for each in every if each.kind not in _NOT_OF_MEETING]
            yield from found or [self._no_policy(target, "meet")]

    def _of_rules(self, target: _End, *, alone: bool) -> Iterator[Obstacle]:
        """Rules that lack something, least first; `alone`: nothing else is in the way."""
        if not self._lacking:
            return
        if self._some:
            yield obstacle("part", words=described(self._traffic, self._lacking))
        found = sorted(self._candidates(target, self._lacking), key=len)
        yield from chain.from_iterable(found)
        yield from self._would_drop(target)
        if alone and not (found or self._some):
            yield self._no_policy(target, f"send {self._traffic.words} to")

    def _candidates(
        self, target: _End, lacking: Sequence[Slice]
    ) -> Iterator[list[Obstacle]]:
        """For each rule that could let `lacking` through, all that is in its way.

        Rules that name one end alone count if nothing else is in their way.
        """
        for policy in self._all.policies:
            for rule in policy.rules:
                if rule.accept:
                    yield from self._of_rule(policy, rule, target, lacking)

    def _of_rule(
        self, policy: Policy, rule: Rule, target: _End, lacking: Sequence[Slice]
    ) -> Iterator[list[Obstacle]]:
        source, peer = self._source, target.peer
        sends, takes = source.on(rule.sources), target.on(rule.destinations)
        back = target.on(rule.sources) and source.on(rule.destinations)
        lacks = self._covering(policy, rule, target, lacking)
        if sends and takes:
            yield [*self._in_force(self._peer, policy, rule), *lacks]
        elif peer and back:
            one_way = [obstacle("direction", policy, who=called(peer))]
            found = [] if rule.bidirectional else one_way
            yield [*found, *self._in_force(peer, policy, rule), *lacks]
        elif sends or takes:
            if any(self._in_force(self._peer, policy, rule)) or any(lacks):
                return
            outsider, side = (
                (source, rule.sources) if takes else (target, rule.destinations)
            )
            if side.groups and not isinstance(outsider.thing, Route):  # in no group
                names, who = self._group_names(side.groups), called(outsider.thing)
                yield [obstacle("group", policy, who=who, groups=names)]

    def _in_force(self, source: Peer, policy: Policy, rule: Rule) -> Iterator[Obstacle]:
        off, failed = in_the_way(self._mesh, source.id, policy, rule)[2:]
        if off:
            yield obstacle("disabled" if "policy" in off else "disabled rule", policy)
        if failed:
            checks = self._all.checks_of(policy)
            values = [text for check in checks for text in shortfalls(source, check)]
            yield obstacle(
                "posture",
                policy,
                checks=", ".join(failed),
                who=called(source),
                values="; ".join(values),
            )

    def _covering(
        self, policy: Policy, rule: Rule, target: _End, lacking: Sequence[Slice]
    ) -> Iterator[Obstacle]:
        """What a rule leaves out of the traffic, by protocol or port."""
        known = rule if target.peer else with_ssh_port(rule)
        found = opened(known, target.peer)
        left = _uncovered(lacking, found)
        if not left:
            return
        # Would a client of today take it in, its age is what is in the way.
        modern = target.peer and target.peer._replace(version=_MODERN)
        if not _uncovered(left, opened(known, modern)):
            yield obstacle("client", target.thing, policy=called(policy))
            return
        named = ("all", *(packets.protocol for packets in left))
        yield obstacle(
            "port" if with_ssh_port(rule).protocol in named else "protocol",
            policy,
            lets=described(self._traffic, [each.packets for each in found])
            or "nothing",
            words=described(self._traffic, left),
        )

    def _no_policy(self, target: _End, do: str) -> Obstacle:
        return obstacle("no_policy", target.thing, who=called(self._peer), do=do)

    def _dropped(self) -> Iterator[Obstacle]:
        for policy in self._all.policies:
            if dropped := self._dropping.get(policy.id):
                words = described(self._traffic, dropped)
                yield obstacle("drop", policy, words=words)

    def _would_drop(self, target: _End) -> Iterator[Obstacle]:
        """What drops it once something lets it through: no map has that before."""
        for policy in self._all.policies:
            found: list[Filter] = []
            for rule in policy.rules:
                ways = () if rule.accept else self._of_rule(policy, rule, target, ())
                if not all(ways):  # nothing keeps it from being in force
                    known = rule if target.peer else with_ssh_port(rule)
                    found += opened(known, target.peer)
            told = policy.id in self._dropping
            parts = [] if told else judged(self._traffic, found)
            if dropped := [packets for packets, by in parts if by is not None]:
                words = described(self._traffic, dropped)
                yield obstacle("drop", policy, words=words)

    def _absent(self, peer: Peer) -> Iterator[Obstacle]:
        for code in absence(peer, self._all, self._mesh.now):
            yield obstacle(code, peer)

    def _routing(self, routing: Route | Router) -> list[Peer]:
        """The peers that a route or router names, whether they take part or not."""
        side, peers = routing_side(routing), self._all.peers
        return [peers[id_] for id_ in peers if names(self._mesh, id_, side)]

    def _end(self, peer: Peer) -> _End:
        return _End(peer, self._mesh.membership.groups_of(peer.id))

    def _group_names(self, ids: Iterable[str]) -> str:
        return " or ".join(sorted(map(self._all.group_name, ids)))


def _uncovered(packets: Iterable[Slice], by: Sequence[Filter]) -> list[Slice]:
    cut = list(packets)
    found = matching(cut, {"": by})
    return [each for each, names in zip(cut, found, strict=True) if not names]


def _no_ipv6(peer: Peer) -> Iterator[Obstacle]:
    if not peer.has_ipv6:
        yield obstacle("ipv6" if peer.ipv6 is None else "ipv6 client", peer)
