"""Rules in force, found by the peers they are about, and who sees whom through them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from meshmgmt.mesh.membership import Membership
from meshmgmt.mesh.posture import watched_files
from meshmgmt.mesh.result import Grant
from meshmgmt.mesh.sides import NOBODY, Side, Union
from meshmgmt.mesh.snapshot import Policy, PostureCheck, Rule, Snapshot


class RuleInForce(NamedTuple):
    """An enabled rule of an enabled policy; sources are those that pass its checks."""

    policy_id: str
    policy_name: str
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
        self._files: dict[
            str, tuple[frozenset[str], frozenset[str], tuple[str, ...]]
        ] = {}
        for policy in snapshot.policies:
            if policy.enabled:
                checks = snapshot.checks_of(policy)
                rules = [rule for rule in policy.rules if rule.enabled]
                for rule in rules:
                    self._add(policy, rule, checks)
                self._watch(checks, rules)

    def about(self, peer_id: str) -> list[RuleInForce]:
        """The rules that have a peer, which takes part, on one of their sides."""
        numbers = set(self._by_peer.get(peer_id, ()))
        for group in self._membership.groups_of(peer_id):
            numbers.update(self._by_group.get(group, ()))
        rules = map(self.rules.__getitem__, sorted(numbers))
        own = self._membership.roster.bit(peer_id)
        return [
            rule
            for rule in rules
            # Only checks keep a peer off a side that its groups put it on.
            if not rule.checks or (rule.sources.mask | rule.destinations.mask) & own
        ]

    def files(self, peer_id: str) -> list[tuple[str, ...]]:
        """The files a peer must watch: one entry per check of rules it is a source of."""
        groups = self._membership.groups_of(peer_id)
        return [
            files
            for _, (sources, single, files) in sorted(self._files.items())
            # Peers that a rule names alone, too: what nobody looks at fails.
            if peer_id in single or not groups.isdisjoint(sources)
        ]

    def grants(
        self, peer_id: str, rules: Iterable[RuleInForce], seen: Union
    ) -> list[Grant]:
        """What rules let a peer exchange with those it has `seen`, or forbid."""
        found: list[Grant] = []
        roster = self._membership.roster
        own = roster.bit(peer_id)
        for entry in rules:
            rule = entry.rule
            sends = [entry.destinations] if entry.sources.mask & own else []
            takes = [entry.sources] if entry.destinations.mask & own else []
            if rule.bidirectional:
                # Agents know rules one way alone: one for both ways is sent as two.
                inward = outward = Union(roster, [*takes, *sends], without=peer_id)
            else:
                inward = Union(roster, takes, without=peer_id)
                outward = Union(roster, sends, without=peer_id)
            for inbound, remotes in ((True, inward), (False, outward)):
                shown = remotes
                if not rule.accept:
                    # A peer is told nothing of those that it does not see, not even to
                    # drop them.
                    shown = Union(roster, [Side(roster, remotes.mask & seen.mask)])
                if shown:
                    found.append(Grant(entry.policy_id, rule, inbound, shown))
        return found

    def _add(
        self, policy: Policy, rule: Rule, checks: tuple[PostureCheck, ...]
    ) -> None:
        sources, destinations = rule.sources, rule.destinations
        number = len(self.rules)
        side = self._membership.side
        self.rules.append(
            RuleInForce(
                policy.id,
                policy.name,
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
        single = frozenset(rule.sources.peer for rule in rules if rule.sources.peer)
        for check in checks:
            if files := watched_files(check):
                known, named, _ = self._files.get(check.id, (NOBODY, NOBODY, ()))
                self._files[check.id] = (known | groups, named | single, files)


def opposite(own: int, rules: Iterable[RuleInForce]) -> list[Side]:
    """The sides that the peer of bit `own` sees; rules that drop show nobody."""
    sides: list[Side] = []
    for entry in rules:
        if entry.rule.accept:
            if entry.sources.mask & own:
                sides.append(entry.destinations)
            if entry.destinations.mask & own:
                sides.append(entry.sources)
    return sides
