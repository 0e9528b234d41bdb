"""What the agents do with a packet: read off the maps of both ends and routing peers.

The source's map says where it goes, that of the peer where it arrives, or that routes it,
whether it is let in.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.firewall import EVERYTHING, EVERYTHING_V6, Ports, receiver
from meshmgmt.mesh.reach.model import (
    DIRECT,
    ROUTED,
    Because,
    Destination,
    Obstacle,
    Verdict,
    Via,
    called,
    obstacle,
)
from meshmgmt.mesh.reach.obstacles import Obstacles
from meshmgmt.mesh.reach.traffic import (
    NOWHERE,
    Filter,
    Part,
    Place,
    Slice,
    Traffic,
    all_places,
    arriving,
    best,
    closest,
    described,
    filters,
    judged,
)
from meshmgmt.mesh.reasons import subject_of
from meshmgmt.mesh.result import NetworkMap, RouteEntry
from meshmgmt.mesh.snapshot import Peer, Resource, Route

MOST: Final = 10
Maps = dict[str, NetworkMap]
"""Of peers, by id."""


class _Leg(NamedTuple):
    """One way to a place, by a routing peer or, without `entry`, straight to a peer.

    Without parts nothing is asked on it: it ends on the source, which may route it.
    """

    entry: RouteEntry | None
    parts: Sequence[Part] = ()

    @property
    def passes(self) -> bool:
        return all(part.passes for part in self.parts)


def verdict(
    mesh: Mesh,
    source: str,
    destination: Destination,
    traffic: Traffic,
    offline: Collection[str] = (),
    *,
    most: int = MOST,
    others: Maps | None = None,
) -> Verdict:
    """Judge what one peer may begin with a destination.

    `offline` are peers known not to be connected; of obstacles in the rules `most` are
    looked for. `others` keeps the maps of other peers for further questions on this mesh.
    Raises KeyError for unknown ids.
    """
    question = _Question(mesh, source, traffic, {} if others is None else others)
    return question.answer(destination, offline, most)


def _once(found: Iterable[Obstacle]) -> Iterator[Obstacle]:
    """Leave out what was told already; look for no more than is asked for."""
    told = set[Obstacle]()
    for each in found:
        if each not in told:
            told.add(each)
            yield each


class _Question:
    def __init__(self, mesh: Mesh, source: str, traffic: Traffic, others: Maps) -> None:
        self._mesh = mesh
        self._all = mesh.snapshot
        self._source = mesh.snapshot.peers[source]
        self._traffic = traffic
        self._own = mesh.network_map(source)
        self._others = others

    def answer(self, to: Destination, offline: Collection[str], most: int) -> Verdict:
        target = self._all.peers[to.id] if to.kind == "peer" else None
        places = self._places(to)
        ways = [list(self._legs(place, target)) for place in places]
        legs = [leg for way in ways for leg in way]
        parts = [part for leg in legs for part in leg.parts]
        routes = [leg.entry for leg in legs if leg.entry]
        # A place that no way leads to is not reached, however good the ways to others.
        allowed = all(ways) and all(leg.passes for leg in legs)
        routed = any(entry.peer_id != self._source.id for entry in routes)
        why = Obstacles(self._mesh, self._source, self._traffic, parts)
        found: Iterable[Obstacle] = ()
        if target and not allowed:
            found = why.to_peer(target, ipv6=places[0].is_ipv6)
        elif not allowed:
            carriers = self._carriers(to, places, routes)
            found = why.to_places(to.text, carriers, ipv6=places[0].is_ipv6)
        ends = {entry.peer_id for entry in routes} | ({to.id} if target else set())
        needed = ends - {self._source.id}
        itself = "it is the peer itself" if target else "the peer routes it itself"
        own = (Because(None, "", "accept", itself),) if legs and not parts else ()
        return Verdict(
            allowed=allowed,
            path=(ROUTED if routed else DIRECT) if legs else None,
            via=tuple(self._via(legs)),
            because=self._because(parts) or own,
            obstacles=(
                *islice(_once(found), most),
                *self._machines(needed, routes, offline),
            ),
        )

    def _places(self, to: Destination) -> list[Place]:
        if to.kind != "resource":
            return [Place(to.text, to.kind == "domain")]
        resource = next(each for each in self._all.resources if each.id == to.id)
        return all_places(resource, self._map(self._source.id), self._map)

    def _legs(self, place: Place, target: Peer | None) -> Iterator[_Leg]:
        if target:
            if target.id == self._source.id:
                yield _Leg(None)
            elif self._linked(target, ipv6=place.is_ipv6):
                yield _Leg(None, judged(self._traffic, [*self._let_in(target)]))
            return
        for entry in best(self._map(self._source.id).routes, place):
            if entry.peer_id == self._source.id:
                yield _Leg(entry)
            else:
                found = self._let_through(entry.peer_id, place)
                yield _Leg(entry, judged(self._traffic, [*found]))

    def _linked(self, target: Peer, *, ipv6: bool) -> bool:
        both = self._source.has_ipv6 and target.has_ipv6
        return self._see_each_other(target.id) and (both or not ipv6)

    def _see_each_other(self, other: str) -> bool:
        own = self._source.id
        # A tunnel needs each end in the map of the other.
        return self._map(own).remotes.has(other) and self._map(other).remotes.has(own)

    def _map(self, peer_id: str) -> NetworkMap:
        if peer_id == self._source.id:
            return self._own
        if peer_id not in self._others:
            self._others[peer_id] = self._mesh.network_map(peer_id)
        return self._others[peer_id]

    def _let_in(self, target: Peer) -> Iterator[Filter]:
        """What the firewall of a peer does with what the source sends it."""
        for policy_id, rule, inbound, remotes in self._map(target.id).grants:
            if inbound and remotes.has(self._source.id):
                yield from arriving(rule, receiver(target), policy_id)

    def _let_through(self, router: str, place: Place) -> Iterator[Filter]:
        """What a routing peer does with what the source sends to a place."""
        sources = place.source(self._source)
        met = self._see_each_other(router)
        for rule in self._map(router).route_rules if met else ():
            aimed = place.closeness(rule.destination, rule.domains) != NOWHERE
            if aimed and any(each in rule.sources for each in sources):
                ports = [Ports(rule.port, rule.ports)]
                yield from filters(
                    rule.accept, rule.protocol, rule.policy_id, rule.rule_id, ports
                )

    def _carriers(
        self, to: Destination, places: Sequence[Place], used: Iterable[RouteEntry]
    ) -> list[Resource | Route]:
        """What could lead there: what does, and what names it most narrowly."""
        if to.kind == "resource":
            return [each for each in self._all.resources if each.id == to.id]
        ids = {self._carrier(entry).id for entry in used}
        near = [(closest(places, each), each) for each in self._every()]
        ranked = sorted([n for n in near if n[0] != NOWHERE], key=itemgetter(0))
        return [each for n, each in ranked if n == ranked[-1][0] or each.id in ids]

    def _carrier(self, entry: RouteEntry) -> Resource | Route:
        """The resource or route that an entry of a map was made of."""
        return next(each for each in self._every() if each.id == entry.carrier)

    def _every(self) -> tuple[Resource | Route, ...]:
        return (*self._all.resources, *self._all.routes)

    def _via(self, legs: Iterable[_Leg]) -> Iterator[Via]:
        by_entry: defaultdict[tuple[Peer, Resource | Route], list[_Leg]]
        by_entry = defaultdict(list)
        for leg in legs:
            if leg.entry and leg.entry.peer_id != self._source.id:
                peer = self._all.peers[leg.entry.peer_id]
                by_entry[peer, self._carrier(leg.entry)].append(leg)
        for (peer, carrier), found in by_entry.items():
            allowed = all(leg.passes for leg in found)
            because = self._because(part for leg in found for part in leg.parts)
            yield Via(subject_of(peer), subject_of(carrier), allowed, because)

    def _because(self, parts: Iterable[Part]) -> tuple[Because, ...]:
        decided: defaultdict[tuple[str, str, bool], list[Slice]] = defaultdict(list)
        for packets, by in parts:
            if by is not None:
                decided[by.policy_id, by.rule_id, by.accept].append(packets)
        return tuple([self._reason(*key, found) for key, found in decided.items()])

    def _reason(
        self, policy_id: str, rule_id: str, accept: bool, packets: list[Slice]
    ) -> Because:
        words = described(self._traffic, packets)
        if not policy_id:
            text = f"a route without access groups lets {words} through"
            return Because(None, "", "accept", text)
        policy = next(each for each in self._all.policies if each.id == policy_id)
        does = f"lets {words} through" if accept else f"drops {words}"
        text = f"{called(policy)} {does}"
        return Because(
            subject_of(policy), rule_id, "accept" if accept else "drop", text
        )

    def _machines(
        self,
        needed: Collection[str],
        entries: Iterable[RouteEntry],
        offline: Collection[str],
    ) -> Iterator[Obstacle]:
        """States of machines that keep a way from working, whatever is allowed."""
        for entry in entries:
            if entry.skip_auto_apply and entry.network in (EVERYTHING, EVERYTHING_V6):
                yield obstacle("not_selected", self._carrier(entry))
        # One routing peer that is there will do.
        if all(id_ in offline for id_ in needed):
            for id_ in sorted(needed):
                yield obstacle("offline", self._all.peers[id_])
