"""Ports of peer firewall rules, as the client of the receiver understands them."""

from functools import lru_cache
from typing import Final, NamedTuple

from meshmgmt.mesh.snapshot import SOURCE_PREFIXES, Peer, Rule
from meshmgmt.mesh.versions import supports

RANGES_SINCE: Final = "0.48.0"
NATIVE_SSH_SINCE: Final = "0.60.0"
SSH_PORT: Final = 22
NATIVE_SSH_PORT: Final = 22022


class Receiver(NamedTuple):
    """What the rules for a peer depend on besides the rules."""

    ranges: bool
    native_ssh: bool
    source_prefixes: bool
    ipv6: bool


def receiver(peer: Peer) -> Receiver:
    """What a peer's client understands."""
    return Receiver(
        ranges=supports(peer.version, RANGES_SINCE),
        native_ssh=peer.ssh_enabled
        and "server_ssh_allowed" in peer.flags
        and supports(peer.version, NATIVE_SSH_SINCE),
        source_prefixes=SOURCE_PREFIXES in peer.capabilities,
        ipv6=peer.has_ipv6,
    )


class Ports(NamedTuple):
    """A port, or a range of them; neither: all."""

    port: int | None = None
    range: tuple[int, int] | None = None

    def covers(self, port: int) -> bool:
        """Tell whether a port or range, but not "all", includes `port`."""
        if self.range is not None:
            return self.range[0] <= port <= self.range[1]
        return self.port == port


@lru_cache(maxsize=4096)
def rule_ports(rule: Rule, receiver: Receiver) -> tuple[Ports, ...]:
    """One entry for each port or range of a rule; none: nothing may be sent.

    A client that knows no ranges gets those of one port; the others stay closed to it.
    """
    if not rule.ports and not rule.ranges:
        # All ports: 22022 among them, so nothing is added for SSH.
        return (Ports(),)
    # Ranges beside ports do not count, as in the reference; its API takes no such mix.
    entries = [Ports(port) for port in rule.ports] or [
        Ports(range=(start, end)) if receiver.ranges else Ports(start)
        for start, end in rule.ranges
        if receiver.ranges or start == end
    ]
    # Agents serve SSH at 22022: who may use 22 needs that, too.
    ssh = rule.protocol == "netbird-ssh" or (
        rule.protocol == "tcp" and receiver.native_ssh
    )
    if (
        ssh
        and any(entry.covers(SSH_PORT) for entry in entries)
        and not any(entry.covers(NATIVE_SSH_PORT) for entry in entries)
    ):
        entries.append(Ports(NATIVE_SSH_PORT))
    return tuple(entries)
