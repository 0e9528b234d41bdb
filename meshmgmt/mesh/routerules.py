"""What a routing peer lets through to its routes, and how IPv6 goes along."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from meshmgmt.mesh.firewall import SSH_PORT
from meshmgmt.mesh.result import RouteEntry, RouteRule
from meshmgmt.mesh.snapshot import Peer, Rule

DOMAIN_NETWORK: Final = "192.0.2.0/32"
"""Stands for the addresses of domains, which only the routing peer knows (RFC 5737)."""

EVERYTHING: Final = "0.0.0.0/0"
EVERYTHING_V6: Final = "::/0"
_V6_ID: Final = "-v6-default"
_V6_NET_ID: Final = "-v6"


def for_family(entries: Iterable[RouteEntry], *, ipv6: bool) -> Iterator[RouteEntry]:
    """Leave out what a peer without IPv6 cannot use; give exit nodes their twin."""
    for entry in entries:
        if ":" not in entry.network:
            yield entry
            if ipv6 and entry.network == EVERYTHING:
                yield entry._replace(
                    id=entry.id + _V6_ID,
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
    for made in _each_port(
        RouteRule(
            sources=first,
            accept=rule.accept,
            destination=entry.network,
            protocol=rule.protocol,
            policy_id=policy_id,
            route_id=entry.id,
            domains=entry.domains,
            rule_id=rule.id,
        ),
        with_ssh_port(rule),
    ):
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
    template = template._replace(protocol=rule.protocol)
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
        sources=sources, destination=EVERYTHING_V6, route_id=rule.route_id + _V6_ID
    )
