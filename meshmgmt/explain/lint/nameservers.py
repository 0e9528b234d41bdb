"""Lint rules about nameserver groups and the groups DNS refers to."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from meshmgmt.core.counting import counted
from meshmgmt.core.names import MAX_OCTETS, ancestors, is_subdomain, quoted
from meshmgmt.explain.lint.facts import Facts, group_finding
from meshmgmt.explain.lint.finding import Finding
from meshmgmt.mesh.snapshot import NameserverGroup, Zone


def shadowed(facts: Facts) -> Iterator[Finding]:
    """Match domains for which the peers' own zone answers alone."""
    peer_domain = facts.dns_domain
    for group in facts.sent_groups:
        for domain in group.domains:
            if peer_domain and is_subdomain(domain, peer_domain):
                yield group_finding(
                    "match_domain_shadowed",
                    group,
                    f"match domain {domain} lies in the peers' domain {peer_domain}, "
                    "about which no server is asked",
                )


def overlaid(facts: Facts) -> Iterator[Finding]:
    """Match domains inside of which a zone has names, for the same peers."""
    by_domain: defaultdict[str, list[Zone]] = defaultdict(list)
    for zone in facts.sent_zones:
        by_domain[zone.domain].append(zone)
    for group in facts.sent_groups:
        for domain in group.domains:
            for above in ancestors(domain):
                for zone in by_domain.get(above, ()):
                    yield from _overlaid_by(facts, group, domain, zone)


def _overlaid_by(
    facts: Facts, group: NameserverGroup, domain: str, zone: Zone
) -> Iterator[Finding]:
    peers = facts.users(group) & facts.receivers(zone.groups)
    names = [name for name in facts.names[zone.id] if is_subdomain(name, domain)]
    if peers and names:
        yield group_finding(
            "match_domain_overlaid",
            group,
            f"zone {zone.domain} answers for {counted(len(names), 'name')} inside "
            f"match domain {domain} before the servers are asked",
        )


def too_long(facts: Facts) -> Iterator[Finding]:
    """Match domains longer than DNS can carry."""
    for group in facts.snapshot.nameserver_groups:
        for domain in group.unusable:
            text = f"match domain {quoted(domain)} is over {MAX_OCTETS} octets"
            yield group_finding("name_too_long", group, text)


def without_peers(facts: Facts) -> Iterator[Finding]:
    """Enabled nameserver groups that nobody gets."""
    for group in facts.sent_groups:
        if group.groups and group.groups <= facts.snapshot.unmanaged_groups:
            yield group_finding(
                "nameserver_group_only_disabled",
                group,
                f"every group that uses {group.name} has DNS management disabled",
            )
        elif not facts.users(group):
            why = "no managed peer is in its groups" if group.groups else "no group"
            yield group_finding(
                "nameserver_group_without_peers",
                group,
                f"nobody uses {group.name}: {why}"
                + ("" if group.groups else " is assigned"),
            )


def repeated(facts: Facts) -> Iterator[Finding]:
    """Servers that stand twice in a group."""
    for group in facts.snapshot.nameserver_groups:
        counts = Counter((server.ip, server.port) for server in group.nameservers)
        for (ip, port), count in counts.items():
            if count > 1:
                yield group_finding(
                    "nameserver_repeated",
                    group,
                    f"{group.name} lists {ip} port {port} {count} times",
                )


def empty_groups(facts: Facts) -> Iterator[Finding]:
    """Groups without peers that enabled zones or nameserver groups refer to."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    items: list[Zone | NameserverGroup] = [*facts.sent_zones, *facts.sent_groups]
    for item in items:
        for group_id in item.groups:
            users[group_id].append(item.name)
    for group_id in sorted(users):
        if not facts.has_members(group_id):
            name = facts.group_name(group_id)
            yield Finding(
                "group_empty",
                "group",
                group_id,
                name,
                f"group {name} has no peers, but {', '.join(users[group_id][:3])} "
                "is meant for it",
            )


RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    shadowed,
    overlaid,
    too_long,
    without_peers,
    repeated,
    empty_groups,
)
