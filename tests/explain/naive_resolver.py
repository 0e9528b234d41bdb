"""A deliberately naive reading of the specification, to compare with.

Written from the seed ("DNS resolution order on a peer"), RFC 1034, Section
4.3.2 and RFC 4592 with the narrowing peers apply (a wildcard covers one label,
empty non-terminals do not exist, custom zones let absent names fall through).
It shares no code with the implementation: what a peer gets is what the naive map
says, and names are compared label by label.
"""

from collections.abc import Iterator
from typing import NamedTuple

from meshmgmt.mesh.snapshot import Nameserver, Snapshot
from tests.mesh import naive

Labels = tuple[str, ...]


class Answer(NamedTuple):
    """End of a look-up: kind, final name, (name, type, content) found, servers."""

    kind: str
    name: str
    records: tuple[tuple[str, str, str], ...] = ()
    servers: tuple[tuple[str, int], ...] = ()


class Host:
    """One peer with what it gets: its naive map, and the objects that it names."""

    def __init__(self, snapshot: Snapshot, peer_id: str) -> None:
        found = naive.Account(snapshot).map(peer_id)
        zones = found.zones if found else None
        servers = (found.servers if found else None) or []
        self.managed = zones is not None
        self.domain = snapshot.settings.dns_domain
        self.zones = [zone for zone in snapshot.zones if zone.id in (zones or [])]
        self.groups = [g for g in snapshot.nameserver_groups if g.id in servers]
        self.peer = snapshot.peers[peer_id]
        self.known = [self.peer]
        self.known += [
            snapshot.peers[id_] for id_ in sorted(found.names if found else ())
        ]

    def names(self) -> Iterator[tuple[str, str, str]]:
        """(name, type, content) of the peers' own zone."""
        for other in self.known:
            for label in [other.label, *other.extra_labels]:
                yield f"{label}.{self.domain}", "A", other.ip
                if other.has_ipv6 and other.ipv6 and self.peer.has_ipv6:
                    yield f"{label}.{self.domain}", "AAAA", other.ipv6


def resolve(host: Host, typed: str, rtype: str) -> Answer:
    """What the peer gets when a program asks for `typed`."""
    name = typed.lower().rstrip(".")
    if not host.managed:
        return Answer("system", name)
    attempts = [name]
    if "." not in typed:
        attempts = [f"{name}.{d}" for d in search_domains(host)] + [name]
    results = [ask(host, attempt, rtype, []) for attempt in attempts]
    # A stub resolver goes on while names do not exist or hold no such data; what
    # a server is asked about might exist.
    for result in results:
        if result.kind not in {"nxdomain", "nodata"}:
            return result
    with_name = [result for result in results if result.kind == "nodata"]
    return with_name[0] if with_name else results[-1]


def ask(host: Host, name: str, rtype: str, chain: list[tuple[str, str, str]]) -> Answer:
    """One full name through the four places of the seed."""
    place = from_zones(host, name)
    if place == "nxdomain":
        return Answer("nxdomain", name, tuple(chain))
    if isinstance(place, list):
        end = from_data(name, rtype, chain, place)
        if end is not None:
            return end
        alias = (name, "CNAME", dict(place)["CNAME"])
        return ask(host, alias[2], rtype, [*chain, alias])
    servers = from_domain_nameservers(host, name)
    if not servers:
        for group in host.groups:
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


def from_zones(host: Host, name: str) -> list[tuple[str, str]] | str | None:
    """(type, content) at the name; `nxdomain`; None when zones do not know it."""
    for size in range(len(split(name)), 0, -1):
        domain = split(name)[-size:]
        if domain == split(host.domain):
            return at(list(host.names()), name, domain) or "nxdomain"
        for zone in host.zones:
            if split(zone.domain) == domain:
                rows = [(r.name, r.type, r.content) for r in zone.records]
                if found := at(rows, name, domain):
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


def from_domain_nameservers(host: Host, name: str) -> list[Nameserver]:
    for size in range(len(split(name)), 0, -1):
        servers: list[Nameserver] = []
        for group in host.groups:
            if split(name)[-size:] in [split(domain) for domain in group.domains]:
                servers += group.nameservers
        if servers:
            return servers
    return []


def search_domains(host: Host) -> list[str]:
    domains = [host.domain, *(zone.domain for zone in host.zones if zone.search)]
    for group in host.groups:
        if group.search:
            domains += group.domains
    return list(dict.fromkeys(domains))


def split(name: str) -> Labels:
    return tuple(name.split("."))
