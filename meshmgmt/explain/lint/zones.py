"""Lint rules about zones and their records."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from meshmgmt.core.names import (
    MAX_OCTETS,
    WILDCARD,
    ancestors,
    is_subdomain,
    is_too_long,
    quoted,
)
from meshmgmt.core.printable import counted
from meshmgmt.explain.lint.finding import Facts, Finding
from meshmgmt.mesh.snapshot import Zone


def shadowed(facts: Facts) -> Iterator[Finding]:
    """Names of a zone that a longer zone has, too, for the same peers."""
    for longer in facts.sent_zones:
        for above in ancestors(longer.domain.partition(".")[2]):
            for zone in facts.by_domain.get(above, ()):
                yield from _shadowed_by(facts, zone, longer)


def _shadowed_by(facts: Facts, zone: Zone, longer: Zone) -> Iterator[Finding]:
    peers = facts.receivers(zone.groups) & facts.receivers(longer.groups)
    hidden = sorted(
        name
        for name in facts.names[zone.id]
        if is_subdomain(name, longer.domain) and _has(facts.names[longer.id], name)
    )
    if peers and hidden:
        text = (
            f"{counted(len(hidden), 'name')} of zone {zone.domain} "
            f"({_examples(hidden)}) also in the longer zone {longer.domain}, which "
            f"wins for {facts.peers_text(peers)}"
        )
        yield Finding.of("zone_shadowed", zone, text)


def overlaps_peer_domain(facts: Facts) -> Iterator[Finding]:
    """Zones inside the peers' domain, and names that the peers' zone swallows."""
    peer_domain = facts.dns_domain
    if not peer_domain:
        return
    for zone in facts.sent_zones:
        if is_subdomain(zone.domain, peer_domain):
            text = (
                f"zone {zone.domain} lies in the peers' domain {peer_domain}: its "
                "names win over peers' names, and absent ones do not exist"
            )
            yield Finding.of("zone_overlaps_peer_domain", zone, text)
        elif is_subdomain(peer_domain, zone.domain):
            lost = sorted(
                name for name in facts.names[zone.id] if is_subdomain(name, peer_domain)
            )
            if lost:
                text = (
                    f"{counted(len(lost), 'name')} of zone {zone.domain} "
                    f"({_examples(lost)}) never answers: the peers' own zone "
                    f"{peer_domain} decides about them"
                )
                yield Finding.of("zone_overlaps_peer_domain", zone, text)


def without_peers(facts: Facts) -> Iterator[Finding]:
    """Enabled zones with records that nobody gets."""
    for zone in facts.sent_zones:
        if not facts.receivers(zone.groups):
            text = f"no managed peer is in a distribution group of zone {zone.domain}"
            yield Finding.of("zone_without_peers", zone, text)


def empty(facts: Facts) -> Iterator[Finding]:
    """Enabled zones without records."""
    for zone in facts.snapshot.zones:
        if zone.enabled and zone.is_empty:
            text = (
                f"zone {zone.domain} is enabled but has no records, so no peer gets it"
            )
            yield Finding.of("zone_empty", zone, text)


def missing_targets(facts: Facts) -> Iterator[Finding]:
    """CNAMEs to names of their own zone that do not exist."""
    for zone in facts.snapshot.zones:
        names = facts.names[zone.id]
        for record in zone.records:
            # Canonical, as names are: both have no dot at the end.
            target = record.content
            if (
                record.type == "CNAME"
                and is_subdomain(target, zone.domain)
                and not _has(names, target)
            ):
                text = (
                    f"{record.name} is an alias of {target}, which zone {zone.domain} "
                    "does not have"
                )
                yield Finding.of("cname_target_missing", record, text)


def unused_search_domain(facts: Facts) -> Iterator[Finding]:
    """Search domains in which no short name can be found."""
    for zone in facts.sent_zones:
        # Search domains are tried for names without a dot, that is of one label.
        if zone.search and not any(
            name.partition(".")[2] == zone.domain for name in facts.names[zone.id]
        ):
            text = (
                f"{zone.domain} is a search domain, but the zone has no name one "
                "label below it"
            )
            yield Finding.of("search_domain_unused", zone, text)


def zero_ttl(facts: Facts) -> Iterator[Finding]:
    """Zones with records that must not be cached."""
    for zone in facts.snapshot.zones:
        names = sorted({record.name for record in zone.records if record.ttl == 0})
        if names:
            number = counted(len(names), "name")
            text = f"zone {zone.domain} has TTL 0 at {number} ({_examples(names)})"
            yield Finding.of("ttl_zero", zone, text)


def different_ttls(facts: Facts) -> Iterator[Finding]:
    """Zones with records of one name and type that do not live equally long."""
    for zone in facts.snapshot.zones:
        ttls: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for record in zone.records:
            ttls[record.name, record.type].add(record.ttl)
        names = sorted({name for (name, _), found in ttls.items() if len(found) > 1})
        if names:
            at = f"{counted(len(names), 'name')} ({_examples(names)})"
            text = f"zone {zone.domain} has different TTLs at {at}"
            yield Finding.of("ttl_differs", zone, text)


def too_long(facts: Facts) -> Iterator[Finding]:
    """Zones, records and targets longer than DNS can carry."""
    for zone in facts.snapshot.zones:
        # All its names are longer still: one finding says it of them, too.
        if is_too_long(zone.domain):
            text = f"the zone domain is longer than {MAX_OCTETS} octets"
            yield Finding.of("name_too_long", zone, text)
            continue
        for record in zone.unusable:
            names = [record.name]
            if record.type == "CNAME":
                names.append(record.content)
            for name in names:
                if is_too_long(name):
                    text = f"{quoted(name)} is longer than {MAX_OCTETS} octets"
                    yield Finding.of("name_too_long", record, text)


def _has(names: frozenset[str], name: str) -> bool:
    """Whether a zone with these names answers for `name`, wildcards included."""
    # As agents do, a wildcard stands for one label alone.
    _, _, parent = name.partition(".")
    return name in names or WILDCARD + parent in names


def _examples(names: list[str]) -> str:
    more = ", …" if len(names) > 1 else ""
    return f"{names[0]}{more}"


RULES: Final = (
    shadowed,
    overlaps_peer_domain,
    without_peers,
    empty,
    missing_targets,
    unused_search_domain,
    zero_ttl,
    different_ttls,
    too_long,
)
