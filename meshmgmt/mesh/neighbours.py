"""Whom one peer reaches, and who reaches it: by rules, on groups."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.policies import RuleInForce
from meshmgmt.mesh.reach.traffic import opened, rule_words
from meshmgmt.mesh.reasons import Subject, Thing, group_of, subject_of
from meshmgmt.mesh.snapshot import Resource, RuleSide

NAMED: Final = 5


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
        for outward, holds, side in (
            (True, sends, rule.destinations),
            (True, takes and both, rule.sources),
            (False, takes, rule.sources),
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
    first = opened(rule)[0]
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
