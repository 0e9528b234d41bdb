"""Rules in force, found by the peers they are about: who sees whom through them, and who
may sign in by SSH.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from meshmgmt.mesh.firewall import NATIVE_SSH_PORT, SSH_PORT, Ports
from meshmgmt.mesh.membership import Membership
from meshmgmt.mesh.posture import watched_files
from meshmgmt.mesh.result import Grant
from meshmgmt.mesh.sides import NOBODY, Side, Union
from meshmgmt.mesh.snapshot import Peer, Policy, PostureCheck, Rule, Snapshot, User

ANY_LOGIN: Final = "*"


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


class SshUsers:
    """People who can act, by the groups their peers join."""

    def __init__(self, snapshot: Snapshot) -> None:
        active = [user for user in snapshot.users.values() if user.active]
        self.everybody = frozenset(_name(user) for user in active)
        by_group: defaultdict[str, set[str]] = defaultdict(set)
        for user in active:
            for group in user.groups:
                by_group[group].add(_name(user))
        self.by_group = {
            **{group: frozenset(users) for group, users in by_group.items()},
            # As in the reference, every active user is in it.
            snapshot.everybody: self.everybody,
        }

    def of(self, group_id: str) -> frozenset[str]:
        """Names of the active users of a group."""
        return self.by_group.get(group_id, frozenset())


def _name(user: User) -> str:
    """What tokens call a user; the id of one who signs in here."""
    return user.subject or user.id


def ssh_wanted(peer: Peer, rules: Iterable[RuleInForce]) -> bool:
    """Tell whether some rule wants the SSH server of a peer."""
    return any(grants_ssh(peer, rule) for rule in rules)


def ssh_logins(
    peer: Peer, rules: Iterable[RuleInForce], users: SshUsers
) -> dict[str, frozenset[str]]:
    """Users who may sign in on a peer, by local login; `*` stands for any login."""
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for entry in rules:
        if not grants_ssh(peer, entry):
            continue
        if entry.rule.protocol == "netbird-ssh" and entry.rule.authorized:
            for group, names in entry.rule.authorized:
                if people := users.of(group):
                    for name in names or (ANY_LOGIN,):
                        found[name] |= people
        # A rule that names no groups, or from before there were SSH rules.
        elif users.everybody:
            found[ANY_LOGIN] = users.everybody
    return dict(found)


def grants_ssh(peer: Peer, entry: RuleInForce) -> bool:
    """Tell whether a rule lets people sign in on a peer."""
    if not entry.rule.accept or peer.id not in entry.destinations.ids:
        return False
    return entry.rule.protocol == "netbird-ssh" or (
        peer.ssh_enabled and _opens_ssh(entry.rule)
    )


def _opens_ssh(rule: Rule) -> bool:
    """Tell whether a rule from before there were SSH rules opens SSH."""
    if rule.protocol == "all":
        return True
    entries = [
        *(Ports(port) for port in rule.ports),
        *(Ports(range=ports) for ports in rule.ranges),
    ]
    # Without ports a rule names neither of them, and wants no SSH, as in the reference.
    return rule.protocol == "tcp" and any(
        entry.covers(port) for entry in entries for port in (SSH_PORT, NATIVE_SSH_PORT)
    )
