"""What peers let through: ports as their clients understand them, and the rules of
routing peers for their routes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from meshmgmt.mesh.result import TWIN, RouteEntry, RouteRule
from meshmgmt.mesh.snapshot import SOURCE_PREFIXES, Peer, Rule
from meshmgmt.mesh.versions import supports

RANGES_SINCE: Final = "0.48.0"
NATIVE_SSH_SINCE: Final = "0.60.0"
SSH_PORT: Final = 22
NATIVE_SSH_PORT: Final = 22022

DOMAIN_NETWORK: Final = "192.0.2.0/32"
"""Stands for the addresses of domains, which only the routing peer knows (RFC 5737)."""

EVERYTHING: Final = "0.0.0.0/0"
EVERYTHING_V6: Final = "::/0"
_V6_NET_ID: Final = "-v6"


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


def for_family(entries: Iterable[RouteEntry], *, ipv6: bool) -> Iterator[RouteEntry]:
    """Leave out what a peer without IPv6 cannot use; give exit nodes their twin."""
    for entry in entries:
        if ":" not in entry.network:
            yield entry
            if ipv6 and entry.network == EVERYTHING:
                yield entry._replace(
                    id=entry.id + TWIN,
                    net_id=entry.net_id + _V6_NET_ID,
                    network=EVERYTHING_V6,
                )
        elif ipv6:
            yield entry


def open_to_all(entry: RouteEntry, *, ipv6: bool) -> Iterator[RouteRule]:
    """The rules of a route without access control: whoever has it may use it."""
    is_v6 = ":" in entry.network
    if is_v6 and not ipv6:
        return
    first = RouteRule(
        sources=(EVERYTHING_V6 if is_v6 else EVERYTHING,),
        accept=True,
        destination=entry.network,
        protocol="all",
        policy_id="",
        route_id=entry.id,
        domains=entry.domains,
    )
    yield first
    if ipv6 and (entry.domains or entry.network == EVERYTHING):
        yield _companion(first, (EVERYTHING_V6,))


def controlled(
    entry: RouteEntry,
    policy_id: str,
    rule: Rule,
    sources: Sequence[Peer],
    *,
    ipv6: bool,
) -> Iterator[RouteRule]:
    """What one rule lets `sources` do with a route; nothing for no sources."""
    is_v6 = ":" in entry.network
    first = tuple(f"{peer.ip}/32" for peer in sources)
    second = tuple(f"{peer.ipv6}/128" for peer in sources if peer.ipv6 is not None)
    if is_v6:
        # A prefix of IPv6 has sources of that family, and no companion.
        first, second = (second if ipv6 else ()), ()
    known = with_ssh_port(rule)
    template = RouteRule(
        sources=first,
        accept=rule.accept,
        destination=entry.network,
        protocol=known.protocol,
        policy_id=policy_id,
        route_id=entry.id,
        domains=entry.domains,
        rule_id=rule.id,
    )
    for made in _each_port(template, known):
        # The reference sends some without sources, which agents skip.
        if first:
            yield made
        if ipv6 and second and (entry.domains or entry.network == EVERYTHING):
            yield _companion(made, second)


def with_ssh_port(rule: Rule) -> Rule:
    """An SSH rule as clients know it on a route: as TCP."""
    if rule.protocol != "netbird-ssh":
        return rule
    # Agents refuse its own protocol there: the rule would let nobody through.
    ports = rule.ports if rule.ports or rule.ranges else (SSH_PORT,)
    return replace(rule, protocol="tcp", ports=ports)


def _each_port(template: RouteRule, rule: Rule) -> Iterator[RouteRule]:
    if rule.ports:
        yield from (template._replace(port=port) for port in rule.ports)
    elif rule.ranges:
        yield from (template._replace(ports=ports) for ports in rule.ranges)
    else:
        yield template


def _companion(rule: RouteRule, sources: tuple[str, ...]) -> RouteRule:
    # A domain has one placeholder, whatever the family of the sources.
    if rule.destination != EVERYTHING:
        return rule._replace(sources=sources)
    return rule._replace(
        sources=sources, destination=EVERYTHING_V6, route_id=rule.route_id + TWIN
    )
