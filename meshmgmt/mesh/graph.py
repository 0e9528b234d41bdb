"""Who may begin what with whom, by which rule, all and around one peer: on groups, never on
pairs of peers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.firewall import with_ssh_port
from meshmgmt.mesh.policies import RuleInForce
from meshmgmt.mesh.reach.traffic import opened, rule_words
from meshmgmt.mesh.reasons import Subject, Thing, group_of, subject_of
from meshmgmt.mesh.snapshot import Policy, Resource, Rule, RuleSide, Snapshot

MOST: Final = 500
NAMED: Final = 5
"""So many of those at an end of a rule are named to a peer, the others counted."""
IN_FORCE, DISABLED, NOBODY = "in_force", "disabled", "nobody"


class End(NamedTuple):
    """A `group`, `peer` or `resource` that rules name.

    It counts the peers that take part, the resources in the group, and the routes whose
    access the group stands for, but for what is disabled.
    """

    kind: str
    id: str
    name: str
    peers: int = 0
    resources: int = 0
    routes: int = 0


class Edge(NamedTuple):
    """What a rule lets its sources begin with its destinations, or drops; ends as ids.

    `state` is `in_force`, `disabled`, or `nobody`: one of its sides is empty. `checks` are
    names of posture checks that sources must pass.
    """

    rule: str
    policy: Subject
    effect: str
    traffic: str
    bidirectional: bool
    state: str
    checks: tuple[str, ...]
    sources: tuple[str, ...]
    destinations: tuple[str, ...]

    @property
    def ends(self) -> tuple[str, ...]:
        return (*self.sources, *self.destinations)


class Graph(NamedTuple):
    """Ends and rules; `left_out` counts by kind what went beyond the limit."""

    focus: Subject | None
    nodes: tuple[End, ...]
    edges: tuple[Edge, ...]
    left_out: dict[str, int]


def graph(mesh: Mesh, focus: Subject | None = None, most: int = MOST) -> Graph:
    """Draw all groups, resources and rules, or those about a focus.

    At most so many nodes, rules among them; a rule comes with all its ends or not at all.
    """
    drawing = _Drawing(mesh)
    every = list(drawing.edges(focus))
    ends: dict[str, None] = {}
    edges: list[Edge] = []
    for edge in every:
        more = {**ends, **dict.fromkeys(edge.ends)}
        # The rule itself counts as one more.
        if len(more) + len(edges) < most:
            ends = more
            edges.append(edge)
    named = dict.fromkeys(id_ for edge in every for id_ in edge.ends)
    # What no rule names is no part of the answer about one thing.
    spare = [] if focus else [id_ for id_ in drawing.everything() if id_ not in named]
    room = most - len(ends) - len(edges)
    shown = {**ends, **dict.fromkeys(spare[:room])}
    out = Counter(drawing.end(id_).kind for id_ in (*named, *spare) if id_ not in shown)
    out["rule"] = len(every) - len(edges)
    nodes = tuple(map(drawing.end, shown))
    return Graph(focus, nodes, tuple(edges), {kind: n for kind, n in out.items() if n})


def subject_with(snapshot: Snapshot, id_: str) -> Subject | None:
    """The group, peer, resource or policy with an id."""
    if id_ in snapshot.group_names:
        return Subject("group", id_, snapshot.group_names[id_])
    if id_ in snapshot.peers:
        return subject_of(snapshot.peers[id_])
    things: list[Resource | Policy] = [*snapshot.resources, *snapshot.policies]
    return next((subject_of(each) for each in things if each.id == id_), None)


class _Drawing:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._all = mesh.snapshot
        self._in_force = {each.rule.id: each for each in mesh.policies.rules}
        self._known = {each.id: each for each in self._all.resources}
        resources = [each for each in self._all.resources if each.enabled]
        routes = [each for each in self._all.routes if each.enabled]
        self._resources = Counter(i for r in resources for i in (r.id, *r.groups))
        self._routes = Counter(id_ for r in routes for id_ in r.access_groups)

    def everything(self) -> list[str]:
        return [*self._all.group_names, *self._known]

    def edges(self, focus: Subject | None) -> Iterator[Edge]:
        """The rules about a focus; of its own side only what is about it."""
        about = self._names(focus)
        for policy in self._all.policies:
            for rule in policy.rules:
                sources, destinations = named(rule.sources), named(rule.destinations)
                if about is None or (focus and policy.id == focus.id):
                    yield self._edge(policy, rule, sources, destinations)
                    continue
                near, far = about & set(sources), about & set(destinations)
                if near or far:
                    kept = (sources if far else near), (destinations if near else far)
                    yield self._edge(policy, rule, *kept)

    def end(self, id_: str) -> End:
        if id_ in self._known:
            name, here = self._known[id_].name, self._resources[id_]
            return End("resource", id_, name, resources=here)
        if id_ in self._all.peers:
            here = int(id_ in self._mesh.membership.peers)
            return End("peer", id_, self._all.peers[id_].name, peers=here)
        name = self._all.group_name(id_)
        peers = self._mesh.membership.side(frozenset({id_})).mask.bit_count()
        return End("group", id_, name, peers, self._resources[id_], self._routes[id_])

    def _names(self, focus: Subject | None) -> set[str] | None:
        """What rules may call the focus: its id and the groups it is in."""
        if focus is None:
            return None
        if focus.kind == "peer":
            return {focus.id, *self._mesh.membership.groups_of(focus.id)}
        if focus.kind == "resource":
            return {focus.id, *self._known[focus.id].groups}
        return {focus.id}

    def _edge(
        self, policy: Policy, rule: Rule, sources: Iterable[str], targets: Iterable[str]
    ) -> Edge:
        return Edge(
            rule=rule.id,
            policy=subject_of(policy),
            effect="accept" if rule.accept else "drop",
            traffic=rule_words(rule),
            bidirectional=rule.bidirectional,
            state=self._state(rule),
            checks=tuple(check.name for check in self._all.checks_of(policy)),
            sources=self._ordered(sources),
            destinations=self._ordered(targets),
        )

    def _ordered(self, ids: Iterable[str]) -> tuple[str, ...]:
        names = self._all.group_names
        return tuple(sorted(ids, key=lambda id_: (names.get(id_, ""), id_)))

    def _state(self, rule: Rule) -> str:
        found = self._in_force.get(rule.id)
        if found is None:
            return DISABLED
        ends = named(rule.destinations)
        behind = any(self._resources[id_] or self._routes[id_] for id_ in ends)
        somebody = found.sources.mask and (found.destinations.mask or behind)
        return IN_FORCE if somebody else NOBODY


def named(side: RuleSide) -> list[str]:
    single = [id_ for id_ in (side.peer, side.resource) if id_]
    return [*side.groups, *single]


class Held(NamedTuple):
    """Who is meant by one end of a rule: some of them, and how many there are."""

    group: Subject | None
    some: tuple[Subject, ...]
    number: int

    @property
    def more(self) -> int:
        return self.number - len(self.some)


class Way(NamedTuple):
    """What a rule lets begin, or drops, with the other side; one port to ask about."""

    policy: Subject
    effect: str
    traffic: str
    protocol: str
    port: int
    others: tuple[Held, ...]


class Neighbours(NamedTuple):
    """What a peer may begin, and what others may begin with it."""

    reaches: tuple[Way, ...]
    reached_by: tuple[Way, ...]


def neighbours(mesh: Mesh, peer_id: str) -> Neighbours | None:
    """Tell by which rules in force a peer meets others; None if it takes no part."""
    own = mesh.membership.roster.bit(peer_id)
    if not own:
        return None
    found: tuple[list[Way], list[Way]] = ([], [])
    for entry in mesh.policies.about(peer_id):
        rule, both = entry.rule, entry.rule.bidirectional
        sends, takes = entry.sources.mask & own, entry.destinations.mask & own
        # Both ways within the same groups: what is said of destinations holds the rest.
        within = sends and both and rule.sources == rule.destinations
        for outward, holds, side in (
            (True, sends, rule.destinations),
            (True, takes and both and not within, rule.sources),
            (False, takes and not within, rule.sources),
            (False, sends and both, rule.destinations),
        ):
            if holds:
                found[not outward].append(_way(mesh, entry, side, own, outward=outward))
    return Neighbours(*(tuple(way for way in ways if way.others) for ways in found))


def _way(
    mesh: Mesh, entry: RuleInForce, side: RuleSide, own: int, *, outward: bool
) -> Way:
    rule = entry.rule
    is_target = side is rule.destinations
    # A source that fails a check of the policy is none; destinations need not pass.
    passing = ~0 if is_target else entry.sources.mask
    # What is routed begins nothing, and is no destination where it is a source.
    things = mesh.snapshot.resources if outward and is_target else ()
    routed = [each for each in things if each.enabled]
    # One port stands for the rule in a link to "can A reach B?".
    first = opened(with_ssh_port(rule))[0]
    return Way(
        policy=Subject("policy", entry.policy_id, entry.policy_name),
        effect="accept" if rule.accept else "drop",
        traffic=rule_words(rule),
        protocol=first.protocol,
        port=first.first,
        others=tuple(_held(mesh, side, passing & ~own, routed)),
    )


def _held(
    mesh: Mesh, side: RuleSide, among: int, things: Sequence[Resource]
) -> Iterator[Held]:
    for group in sorted(side.groups, key=mesh.snapshot.group_name):
        mask = mesh.membership.side(frozenset({group})).mask & among
        routed = [each for each in things if group in each.groups]
        if held := _some(mesh, mask, routed):
            yield held._replace(group=group_of(mesh.snapshot, group))
    single = mesh.membership.roster.bit(side.peer) & among
    routed = [each for each in things if each.id == side.resource]
    if held := _some(mesh, single, routed):
        yield held


def _some(mesh: Mesh, mask: int, routed: list[Resource]) -> Held | None:
    count = mask.bit_count() + len(routed)
    meant: Iterator[Thing] = chain(mesh.membership.listed(mask), routed)
    some = tuple(map(subject_of, islice(meant, NAMED)))
    return Held(None, some, count) if count else None
