"""A network map as tables, for terminals and for the admin site."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from meshmgmt.control.maps import MapStore
from meshmgmt.core.printable import counted, printable
from meshmgmt.explain.resolution.model import Phrase, text_of
from meshmgmt.mesh import NetworkMap
from meshmgmt.mesh.firewall import receiver, rule_ports
from meshmgmt.mesh.hints import hints
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.result import Grant, RouteRule

SOURCES: Final = 5
"""So many addresses of a rule are named."""

Row = Sequence[Phrase]

_HEADINGS: Final = {
    "peers": ("peers", ("Peer", "IPv4", "IPv6", "Agent")),
    "rules": ("rules", ("Direction", "Action", "Traffic", "Peers", "Because of")),
    "routes": ("routes", ("Route", "To", "Routing peer", "Metric")),
    "through": ("let through to routes", ("Action", "Traffic", "To", "Sources")),
    "dns": ("DNS", ("Kind", "Names", "Holds")),
    "ssh": ("SSH logins", ("Login", "Users")),
}
"""Of each table: its title, and those of its columns."""


class Table(NamedTuple):
    """One kind of what a peer is told; `name` is a word for addresses of pages."""

    name: str
    title: str
    headings: tuple[str, ...]
    rows: list[Row]


def render(store: MapStore, peer_id: str) -> str:
    """The map of a peer as text, ending with a line feed. Raises NotFound, Unsendable."""
    config = store.peer_config(peer_id)
    found = store.mesh.network_map(peer_id)
    lines = [
        f"{config.fqdn or found.peer.label}  {config.address}",
        f"client {found.peer.version or 'unknown'}, serial {store.serial}",
    ]
    for table in tables(store, peer_id):
        lines += _as_text(table)
    reasons = hints(store.mesh, peer_id)
    if reasons:
        title = "why it has no DNS" if found.remotes else "why it is empty"
        lines += ["", title, *(f"  {reason}" for reason in reasons)]
    return "".join(f"{printable(line)}\n" for line in lines)


def tables(store: MapStore, peer_id: str) -> list[Table]:
    """Return what the map of a peer holds. Raises NotFound, Unsendable."""
    store.peer_config(peer_id)  # for what it raises
    found = store.mesh.network_map(peer_id)
    rows: dict[str, Iterable[Row]] = {
        "peers": _peers(store, found),
        "rules": _grants(store, found),
        "routes": _routes(store, found),
        "through": map(_route_rule, found.route_rules),
        "dns": _dns(store, found),
        "ssh": _ssh(found),
    }
    return [Table(name, *_HEADINGS[name], [*each]) for name, each in rows.items()]


def _as_text(table: Table) -> Iterator[str]:
    rows = [list(map(text_of, row)) for row in table.rows]
    yield ""
    yield f"{table.title}: {len(rows) or 'none'}"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  " + "  ".join(cell.ljust(width) for cell, width in cells).rstrip()


def _peers(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    for peer_id in sorted(found.remotes.ids):
        peer = store.mesh.membership.peers[peer_id]
        yield (_peer(store, peer_id), (peer.ip,), (peer.ipv6 or "",), (peer.version,))


def _grants(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    policies = {policy.id: policy.name for policy in store.mesh.snapshot.policies}
    for grant in found.grants:
        policy = Subject("policy", grant.policy_id, policies[grant.policy_id])
        yield (
            ("in" if grant.inbound else "out",),
            ("accept" if grant.rule.accept else "drop",),
            (_traffic(found, grant),),
            (counted(len(grant.remotes.ids), "peer"),),
            ("policy ", policy),
        )


def _traffic(found: NetworkMap, grant: Grant) -> str:
    entries = rule_ports(grant.rule, receiver(found.peer))
    texts = [_range(entry.port, entry.range) for entry in entries]
    return f"{grant.rule.protocol} {','.join(filter(None, texts))}".rstrip()


def _routes(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    resources = {each.id for each in store.mesh.snapshot.resources}
    for entry in found.routes:
        kind = "resource" if entry.carrier in resources else "route"
        target = ", ".join(entry.domains) or entry.network
        yield (
            (Subject(kind, entry.carrier, entry.net_id),),
            (target,),
            ("by ", *_peer(store, entry.peer_id)),
            (f"metric {entry.metric}",),
        )


def _peer(store: MapStore, peer_id: str) -> Phrase:
    label = store.mesh.membership.peers[peer_id].label
    return (Subject("peer", peer_id, label),)


def _route_rule(rule: RouteRule) -> Row:
    named, more = rule.sources[:SOURCES], len(rule.sources) - SOURCES
    return (
        ("accept" if rule.accept else "drop",),
        (f"{rule.protocol} {_range(rule.port, rule.ports)}".rstrip(),),
        (", ".join(rule.domains) or rule.destination,),
        (f"from {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}",),
    )


def _dns(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    if found.dns is None:
        return
    if domain := store.mesh.snapshot.settings.dns_domain:
        yield ("zone",), (domain,), (counted(len(found.names.ids) + 1, "peer"),)
    for zone in found.dns.zones:
        name = Subject("zone", zone.id, zone.domain)
        yield ("zone",), (name,), (counted(len(zone.records), "record"),)
    for group in found.dns.nameserver_groups:
        servers = ", ".join(
            f"{server.ip}:{server.port}" for server in group.nameservers
        )
        names = Subject(
            "nameserver_group", group.id, ", ".join(group.domains) or "all names"
        )
        yield ("servers",), (names,), (servers,)


def _ssh(found: NetworkMap) -> Iterator[Row]:
    for login, users in sorted(found.ssh_logins.items()):
        yield ("any" if login == "*" else login,), (counted(len(users), "user"),)


def _range(port: int | None, ports: tuple[int, int] | None) -> str:
    if ports is not None:
        return f"{ports[0]}-{ports[1]}"
    return "" if port is None else str(port)
