"""Lint rules about nameserver groups and the groups DNS refers to."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from meshmgmt.core.names import MAX_OCTETS, ancestors, is_subdomain, quoted
from meshmgmt.core.printable import counted
from meshmgmt.explain.lint.finding import Facts, Finding
from meshmgmt.mesh.reasons import group_of
from meshmgmt.mesh.snapshot import NameserverGroup, Zone


def shadowed(facts: Facts) -> Iterator[Finding]:
    """Match domains for which the peers' own zone answers alone."""
    peer_domain = facts.dns_domain
    for group in facts.sent_groups:
        for domain in group.domains:
            if peer_domain and is_subdomain(domain, peer_domain):
                text = (
                    f"match domain {domain} lies in the peers' domain {peer_domain}, "
                    "about which no server is asked"
                )
                yield Finding.of("match_domain_shadowed", group, text)


def overlaid(facts: Facts) -> Iterator[Finding]:
    """Match domains inside of which a zone has names, for the same peers."""
    for group in facts.sent_groups:
        for domain in group.domains:
            for above in ancestors(domain):
                for zone in facts.by_domain.get(above, ()):
                    yield from _overlaid_by(facts, group, domain, zone)


def _overlaid_by(
    facts: Facts, group: NameserverGroup, domain: str, zone: Zone
) -> Iterator[Finding]:
    peers = facts.users(group) & facts.receivers(zone.groups)
    names = [name for name in facts.names[zone.id] if is_subdomain(name, domain)]
    if peers and names:
        text = (
            f"zone {zone.domain} answers for {counted(len(names), 'name')} inside "
            f"match domain {domain} before the servers are asked"
        )
        yield Finding.of("match_domain_overlaid", group, text)


def too_long(facts: Facts) -> Iterator[Finding]:
    """Match domains longer than DNS can carry."""
    for group in facts.snapshot.nameserver_groups:
        for domain in group.unusable:
            text = f"match domain {quoted(domain)} is over {MAX_OCTETS} octets"
            yield Finding.of("name_too_long", group, text)


def without_peers(facts: Facts) -> Iterator[Finding]:
    """Enabled nameserver groups that nobody gets."""
    for group in facts.sent_groups:
        if group.groups and group.groups <= facts.snapshot.unmanaged_groups:
            text = f"every group that uses {group.name} has DNS management disabled"
            yield Finding.of("nameserver_group_only_disabled", group, text)
        elif not facts.users(group):
            nobody = "no managed peer is in its groups"
            why = nobody if group.groups else "no group is assigned"
            text = f"nobody uses {group.name}: {why}"
            yield Finding.of("nameserver_group_without_peers", group, text)


def repeated(facts: Facts) -> Iterator[Finding]:
    """Servers that stand twice in a group."""
    for group in facts.snapshot.nameserver_groups:
        counts = Counter((server.ip, server.port) for server in group.nameservers)
        for (ip, port), count in counts.items():
            if count > 1:
                text = f"{group.name} lists {ip} port {port} {count} times"
                yield Finding.of("nameserver_repeated", group, text)


def empty_groups(facts: Facts) -> Iterator[Finding]:
    """Groups without peers that enabled zones or nameserver groups refer to."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    items: list[Zone | NameserverGroup] = [*facts.sent_zones, *facts.sent_groups]
    for item in items:
        for group_id in item.groups:
            users[group_id].append(item.name)
    for group_id in sorted(users):
        if not facts.has_members(group_id):
            group = group_of(facts.snapshot, group_id)
            names = ", ".join(users[group_id][:3])
            text = f"group {group.name} has no peers, but {names} is meant for it"
            yield Finding("group_empty", group, text)


RULES: Final = (shadowed, overlaid, too_long, without_peers, repeated, empty_groups)
