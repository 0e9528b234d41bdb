"""Rules in force, found by the peers they are about, and who sees whom through them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from meshmgmt.netmap.membership import EMPTY, NOBODY, Membership, Side, Union
from meshmgmt.netmap.posture import watched_files
from meshmgmt.netmap.result import Grant
from meshmgmt.netmap.snapshot import PostureCheck, Rule, Snapshot


class RuleInForce(NamedTuple):
    """An enabled rule of an enabled policy; sources are those that pass its checks."""

    policy_id: str
    rule: Rule
    sources: Side
    destinations: Side
    checks: tuple[PostureCheck, ...] = ()


class Policies:
    """The rules in force of an account."""

    def __init__(self, snapshot: Snapshot, membership: Membership) -> None:
        self._membership = membership
        self.rules: list[RuleInForce] = []
        self._by_group: defaultdict[str, list[int]] = defaultdict(list)
        self._by_peer: defaultdict[str, list[int]] = defaultdict(list)
        self._files: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        for policy in snapshot.policies:
            if policy.enabled:
                checks = tuple(
                    snapshot.checks[id_]
                    for id_ in policy.checks
                    if id_ in snapshot.checks
                )
                rules = [rule for rule in policy.rules if rule.enabled]
                for rule in rules:
                    self._add(policy.id, rule, checks)
                self._watch(checks, rules)

    def about(self, peer_id: str) -> list[RuleInForce]:
        """The rules that have a peer on one of their sides, in order."""
        numbers = set(self._by_peer.get(peer_id, ()))
        for group in self._membership.groups_of(peer_id):
            numbers.update(self._by_group.get(group, ()))
        rules = map(self.rules.__getitem__, sorted(numbers))
        return [
            rule
            for rule in rules
            if peer_id in rule.sources.ids or peer_id in rule.destinations.ids
        ]

    def files(self, peer_id: str) -> list[tuple[str, ...]]:
        """The files a peer must watch: one entry per check of rules it is a source of."""
        groups = self._membership.groups_of(peer_id)
        return [
            files
            for _, (sources, files) in sorted(self._files.items())
            if not groups.isdisjoint(sources)
        ]

    def _add(
        self, policy_id: str, rule: Rule, checks: tuple[PostureCheck, ...]
    ) -> None:
        sources, destinations = rule.sources, rule.destinations
        number = len(self.rules)
        side = self._membership.side
        self.rules.append(
            RuleInForce(
                policy_id,
                rule,
                side(sources.groups, sources.peer, checks),
                side(destinations.groups, destinations.peer),
                checks,
            )
        )
        for group in sources.groups | destinations.groups:
            self._by_group[group].append(number)
        for peer in {sources.peer, destinations.peer}:
            if peer is not None:
                self._by_peer[peer].append(number)

    def _watch(self, checks: Iterable[PostureCheck], rules: list[Rule]) -> None:
        groups = NOBODY.union(*(rule.sources.groups for rule in rules))
        for check in checks:
            if files := watched_files(check):
                known, _ = self._files.get(check.id, (NOBODY, ()))
                self._files[check.id] = (known | groups, files)


def opposite(peer_id: str, rules: Iterable[RuleInForce]) -> list[Side]:
    """The sides that a peer sees through accept rules; rules that drop show nobody."""
    sides: list[Side] = []
    for entry in rules:
        if entry.rule.accept:
            if peer_id in entry.sources.ids:
                sides.append(entry.destinations)
            if peer_id in entry.destinations.ids:
                sides.append(entry.sources)
    return sides


def grants(peer_id: str, rules: Iterable[RuleInForce], seen: Union) -> list[Grant]:
    """What rules let a peer exchange with those it has `seen`, or forbid."""
    found: list[Grant] = []
    for entry in rules:
        rule = entry.rule
        sends = entry.destinations if peer_id in entry.sources.ids else EMPTY
        takes = entry.sources if peer_id in entry.destinations.ids else EMPTY
        if rule.bidirectional:
            inward = outward = Union.of((takes, sends), without=peer_id)
        else:
            inward = Union.of((takes,), without=peer_id)
            outward = Union.of((sends,), without=peer_id)
        for inbound, remotes in ((True, inward), (False, outward)):
            shown = remotes
            if not rule.accept:
                shown = Union.of([Side.of(remotes.ids & seen.ids)])
            if shown:
                found.append(Grant(entry.policy_id, rule, inbound, shown))
    return found
