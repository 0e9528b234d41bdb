"""Who may sign in by SSH on a peer, and whether its SSH server is wanted."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from meshmgmt.mesh.firewall import NATIVE_SSH_PORT, SSH_PORT, Ports
from meshmgmt.mesh.policies import RuleInForce
from meshmgmt.mesh.snapshot import Peer, Rule, Snapshot, User

ANY_LOGIN: Final = "*"


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
