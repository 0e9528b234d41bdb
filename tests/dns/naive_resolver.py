"""A deliberately naive reading of the specification, to compare with.

Written from the seed ("DNS resolution order on a peer"), RFC 1034, Section
4.3.2 and RFC 4592 with the narrowing peers apply (a wildcard covers one label,
empty non-terminals do not exist, custom zones let absent names fall through).
It shares no code with the implementation: it goes through the raw snapshot for
every single question and compares names label by label.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

Labels = tuple[str, ...]


class Answer(NamedTuple):
    """End of a look-up: kind, final name, (name, type, content) found, servers."""

    kind: str
    name: str
    records: tuple[tuple[str, str, str], ...] = ()
    servers: tuple[tuple[str, int], ...] = ()


def resolve(snapshot: Any, peer_id: str, typed: str, rtype: str) -> Answer:
    """What the peer gets when a program asks for `typed`."""
    peer = snapshot.peers[peer_id]
    name = typed.lower().rstrip(".")
    if any(group in snapshot.disabled_groups for group in peer.groups):
        return Answer("system", name)
    if not peer.approved:
        return Answer("system", name)
    attempts = [name]
    if "." not in typed:
        attempts = [f"{name}.{d}" for d in search_domains(snapshot, peer)] + [name]
    results = [ask(snapshot, peer, attempt, rtype, []) for attempt in attempts]
    # A stub resolver goes on while names do not exist or hold no such data; what
    # a server is asked about might exist.
    for result in results:
        if result.kind not in {"nxdomain", "nodata"}:
            return result
    with_name = [result for result in results if result.kind == "nodata"]
    return with_name[0] if with_name else results[-1]


def ask(
    snapshot: Any,
    peer: Any,
    name: str,
    rtype: str,
    chain: list[tuple[str, str, str]],
) -> Answer:
    """One full name through the four places of the seed."""
    place = from_zones(snapshot, peer, name)
    if place == "nxdomain":
        return Answer("nxdomain", name, tuple(chain))
    if isinstance(place, list):
        end = from_data(name, rtype, chain, place)
        if end is not None:
            return end
        alias = (name, "CNAME", dict(place)["CNAME"])
        return ask(snapshot, peer, alias[2], rtype, [*chain, alias])
    servers = from_domain_nameservers(snapshot, peer, name)
    if not servers:
        for group in nameserver_groups(snapshot, peer):
            servers += group.nameservers if group.primary else ()
    if servers:
        listed = tuple((server.ip, server.port) for server in servers)
        return Answer("forwarded", name, tuple(chain), listed)
    return Answer("system", name, tuple(chain))


def from_data(
    name: str,
    rtype: str,
    chain: list[tuple[str, str, str]],
    data: list[tuple[str, str]],
) -> Answer | None:
    """What the data at a name says; None when its alias is to be followed."""
    found = tuple((name, t, content) for t, content in data if t == rtype)
    if found:
        return Answer("answer", name, (*chain, *found))
    aliases = [content for t, content in data if t == "CNAME"]
    if not aliases:
        return Answer("nodata", name, tuple(chain))
    chain = [*chain, (name, "CNAME", aliases[0])]
    if aliases[0] in [owner for owner, _, _ in chain]:
        return Answer("loop", aliases[0], tuple(chain))
    if len(chain) > 8:
        return Answer("depth", aliases[0], tuple(chain))
    return None


def from_zones(
    snapshot: Any, peer: Any, name: str
) -> list[tuple[str, str]] | str | None:
    """(type, content) at the name; `nxdomain`; None when zones do not know it."""
    for size in range(len(split(name)), 0, -1):
        domain = split(name)[-size:]
        if domain == split(snapshot.dns_domain):
            own = [
                (owner, rtype, content)
                for owner, rtype, content in own_zone(snapshot, peer)
            ]
            return at(own, name, domain) or "nxdomain"
        for zone in snapshot.zones:
            if split(zone.domain) != domain or not gets(zone, peer):
                continue
            rows = [(r.name, r.type, r.content) for r in zone.records]
            found = at(rows, name, domain)
            if found:
                return found
    return None


def at(
    rows: list[tuple[str, str, str]], name: str, domain: Labels
) -> list[tuple[str, str]]:
    exact = [(rtype, content) for owner, rtype, content in rows if owner == name]
    if exact:
        return exact
    if len(split(name)) <= len(domain):
        return []
    star = ("*", *split(name)[1:])
    return [(rtype, content) for owner, rtype, content in rows if split(owner) == star]


def own_zone(snapshot: Any, peer: Any) -> Iterator[tuple[str, str, str]]:
    for other in snapshot.peers.values():
        if other.id != peer.id and not meet(snapshot, peer, other):
            continue
        if not other.approved:
            continue
        for label in [other.label, *other.extra_labels]:
            yield f"{label}.{snapshot.dns_domain}", "A", other.ip
            if other.ipv6 and peer.ipv6:
                yield f"{label}.{snapshot.dns_domain}", "AAAA", other.ipv6


def meet(snapshot: Any, one: Any, other: Any) -> bool:
    """Whether a rule (or a route) has one peer on each side."""
    for policy in snapshot.reach.policies:
        for rule in policy.rules:
            if policy.enabled and rule.enabled and rule.accept:
                for here, there in ((one, other), (other, one)):
                    if stands(rule.sources.groups, rule.sources.peer, here) and stands(
                        rule.destinations.groups, rule.destinations.peer, there
                    ):
                        return True
    for route in snapshot.reach.routes:
        for here, there in ((one, other), (other, one)):
            if (
                route.enabled
                and stands(route.peer_groups, route.peer, here)
                and stands(route.groups, None, there)
            ):
                return True
    return False


def stands(groups: Any, single: str | None, peer: Any) -> bool:
    return peer.id == single or bool(set(groups) & set(peer.groups))


def gets(item: Any, peer: Any) -> bool:
    if not item.enabled or not set(item.groups) & set(peer.groups):
        return False
    return not hasattr(item, "records") or bool(item.records)


def nameserver_groups(snapshot: Any, peer: Any) -> list[Any]:
    return [
        group
        for group in snapshot.nameserver_groups
        if gets(group, peer)
        and not any(server.ip in {peer.ip, peer.ipv6} for server in group.nameservers)
    ]


def from_domain_nameservers(snapshot: Any, peer: Any, name: str) -> list[Any]:
    for size in range(len(split(name)), 0, -1):
        servers: list[Any] = []
        for group in nameserver_groups(snapshot, peer):
            if split(name)[-size:] in [split(domain) for domain in group.domains]:
                servers += group.nameservers
        if servers:
            return servers
    return []


def search_domains(snapshot: Any, peer: Any) -> list[str]:
    domains = [snapshot.dns_domain]
    domains += [z.domain for z in snapshot.zones if gets(z, peer) and z.search]
    for group in nameserver_groups(snapshot, peer):
        if group.search:
            domains += group.domains
    return list(dict.fromkeys(domains))


def split(name: str) -> Labels:
    return tuple(name.split("."))
