"""Whole sets of peers at once: which pairs may not, or may, and who are alike.

A peer is a bit, so what rules let one source send to is a few masks joined, however
many peers there are; `meshmgmt.mesh.reach` says the same of each pair.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.firewall import Receiver, receiver
from meshmgmt.mesh.policies import RuleInForce
from meshmgmt.mesh.reach.traffic import Traffic, arriving, matching, slices

Pair = tuple[str, str]


def unmet(
    mesh: Mesh,
    sources: Collection[str],
    destinations: Collection[str],
    traffic: Traffic,
    *,
    reach: bool,
) -> Iterator[Pair]:
    """Yield the pairs of peers that do not keep a promise, some perhaps repeatedly.

    `reach` promises that each source sends all of the traffic to each destination, at
    its IPv4 address; else none sends any of it. Nobody is a pair with itself.
    """
    roster = mesh.membership.roster
    if reach:
        yield from _absent(mesh, sources, destinations)
    source, target = roster.mask(sources), roster.mask(destinations)
    rules = [rule for rule in mesh.policies.rules if overlaps(rule, source, target)]
    for understood, part in _by_receiver(mesh, target).items():
        told = list(_matching(rules, understood, traffic))
        for each in rows(source, part, told):
            for members, reached in each:
                wrong = part & ~reached if reach else part & reached
                yield from _pairs(mesh, members, wrong)


def alike(
    mesh: Mesh, peers: Collection[str], *, around: str = ""
) -> Iterator[tuple[str, ...]]:
    """Yield the peers in parts that have the same ways to what is routed.

    So they have to the peer `around`, at whichever of its addresses.
    """
    membership = mesh.membership
    others = set(peers) - {around}
    if around in peers:
        yield (around,)
    present = others & membership.peers.keys()
    if absent := tuple(sorted(others - present)):
        yield absent
    routing = _routing(mesh) | membership.roster.bit(around)
    marks = list(dict.fromkeys(_marks(mesh, routing)))
    found: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
    for peer_id in sorted(present):
        own, peer = membership.roster.bit(peer_id), membership.peers[peer_id]
        # A routing peer is like no other. Of the rest their families of addresses
        # count.
        key = [peer_id if own & routing else "", peer.ipv6 is None, peer.has_ipv6]
        found[(*key, *(bool(mark & own) for mark in marks))].append(peer_id)
    yield from map(tuple, found.values())


def _absent(
    mesh: Mesh, sources: Collection[str], destinations: Collection[str]
) -> Iterator[Pair]:
    there = mesh.membership.peers
    for one in sources:
        for other in destinations:
            if one != other and not (one in there and other in there):
                yield one, other


def overlaps(rule: RuleInForce, source: int, target: int) -> bool:
    """Tell whether sources begin something with targets by the rule."""
    first, second = rule.sources.mask, rule.destinations.mask
    back = rule.rule.bidirectional and second & source and first & target
    return bool((first & source and second & target) or back)


def _by_receiver(mesh: Mesh, target: int) -> dict[Receiver, int]:
    found: defaultdict[Receiver, int] = defaultdict(int)
    for peer_id in mesh.membership.roster.listed(target):
        understood = receiver(mesh.membership.peers[peer_id])
        # What else a receiver depends on is not about ports.
        key = understood._replace(source_prefixes=False, ipv6=False)
        found[key] |= mesh.membership.roster.bit(peer_id)
    return found


def _matching(
    rules: Iterable[RuleInForce], understood: Receiver, traffic: Traffic
) -> Iterator[list[RuleInForce]]:
    """Yield, for each part of the traffic that rules tell apart, those about it."""
    by_id = {rule.rule.id: rule for rule in rules}
    each = {
        id_: [*arriving(rule.rule, understood, rule.policy_id)]
        for id_, rule in by_id.items()
    }
    cut = list(slices(traffic, [f for found in each.values() for f in found]))
    for ids in dict.fromkeys(matching(cut, each)):
        yield [by_id[id_] for id_ in ids]


def rows(
    source: int, target: int, lists: Sequence[Sequence[RuleInForce]]
) -> Iterator[list[tuple[int, int]]]:
    """Yield for each list of rules the sources that they treat alike, with their targets.

    The rules that all lists have, of many about all traffic most, are applied once.
    """
    if not lists:
        return
    of_all = set.intersection(*({*map(id, rules)} for rules in lists))
    begun = {(0, 0): source}
    _apply(begun, source, target, [r for r in lists[0] if id(r) in of_all])
    for rules in lists:
        found = dict(begun)
        _apply(found, source, target, [r for r in rules if id(r) not in of_all])
        yield [
            (members, accepted & ~dropped)
            for (accepted, dropped), members in found.items()
        ]


def _apply(
    rows: dict[tuple[int, int], int],
    source: int,
    target: int,
    rules: Iterable[RuleInForce],
) -> None:
    """Tell rows of sources apart by further rules, in whatever order these come."""
    for rule in rules:
        first, second = rule.sources.mask, rule.destinations.mask
        both = rule.rule.bidirectional
        for here, there in ((first, second), (second, first))[: 1 + both]:
            if here & source and there & target:
                _split(rows, here, there & target, accept=rule.rule.accept)


def _split(
    rows: dict[tuple[int, int], int], here: int, there: int, *, accept: bool
) -> None:
    """Move the sources of a rule to rows that have what it is about."""
    # First all go, then all come: a row may be left and joined at once.
    moved = []
    for told, members in rows.items():
        if inside := members & here:
            accepted, dropped = told
            new = (accepted | there, dropped) if accept else (accepted, dropped | there)
            if new != told:
                moved.append((told, new, inside))
    for told, _, inside in moved:
        rows[told] ^= inside
        if not rows[told]:
            del rows[told]
    for _, new, inside in moved:
        rows[new] = rows.get(new, 0) | inside


def _pairs(mesh: Mesh, members: int, wrong: int) -> Iterator[Pair]:
    roster = mesh.membership.roster
    if wrong:
        for one in roster.listed(members):
            for other in roster.listed(wrong & ~roster.bit(one)):
                yield one, other


def _routing(mesh: Mesh) -> int:
    """The peers that route anything, or would."""
    side = mesh.membership.side
    found = 0
    for _, routing in mesh.routes.all_links():
        found |= routing.mask
    for router in mesh.snapshot.routers:
        if router.enabled:
            found |= side(router.peer_groups, router.peer).mask
    return found


def _marks(mesh: Mesh, routing: int) -> Iterator[int]:
    """Sets of peers whose members may have other routed ways than who is not in them."""
    routes = [route for route, _ in mesh.routes.links()]
    named = frozenset[str]().union(*(route.access_groups for route in routes))
    for route in routes:
        yield mesh.membership.side(route.groups).mask
    for rule in mesh.policies.rules:
        first, second = rule.sources.mask, rule.destinations.mask
        if (
            (first | second) & routing
            or mesh.networks.behind(rule)
            or rule.rule.destinations.groups & named
        ):
            yield first
            yield second
