"""A network map as tables for terminals."""

from collections.abc import Iterator, Sequence

from meshmgmt.control.maps import MapStore
from meshmgmt.core.printable import printable
from meshmgmt.mesh import NetworkMap
from meshmgmt.mesh.firewall import receiver, rule_ports
from meshmgmt.mesh.hints import hints
from meshmgmt.mesh.result import Grant, RouteRule

Row = Sequence[str]


def render(store: MapStore, peer_id: str) -> str:
    """The map of a peer as text, ending with a line feed. Raises NotFound, Unsendable."""
    config = store.peer_config(peer_id)
    found = store.mesh.network_map(peer_id)
    lines = [
        f"{config.fqdn or found.peer.label}  {config.address}",
        f"client {found.peer.version or 'unknown'}, serial {store.serial}",
        *_table("peers", list(_peers(store, found))),
        *_table("rules", [_grant(store, found, grant) for grant in found.grants]),
        *_table("routes", list(_routes(store, found))),
        *_table("let through to routes", list(map(_route_rule, found.route_rules))),
        *_table("DNS", list(_dns(store, found))),
        *_table("SSH logins", list(_ssh(found))),
    ]
    reasons = hints(store.mesh, peer_id)
    if reasons:
        title = "why it has no DNS" if found.remotes else "why it is empty"
        lines += ["", title, *(f"  {reason}" for reason in reasons)]
    return "".join(f"{printable(line)}\n" for line in lines)


def _table(title: str, rows: list[Row]) -> Iterator[str]:
    yield ""
    yield f"{title}: {len(rows) or 'none'}"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  " + "  ".join(cell.ljust(width) for cell, width in cells).rstrip()


def _peers(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    for peer_id in sorted(found.remotes.ids):
        peer = store.mesh.membership.peers[peer_id]
        yield peer.label, peer.ip, peer.ipv6 or "", peer.version


def _grant(store: MapStore, found: NetworkMap, grant: Grant) -> Row:
    policies = {policy.id: policy.name for policy in store.mesh.snapshot.policies}
    entries = rule_ports(grant.rule, receiver(found.peer))
    texts = [_range(entry.port, entry.range) for entry in entries]
    return (
        "in" if grant.inbound else "out",
        "accept" if grant.rule.accept else "drop",
        f"{grant.rule.protocol} {','.join(filter(None, texts))}".rstrip(),
        _count(len(grant.remotes.ids), "peer"),
        f"policy {policies[grant.policy_id]}",
    )


def _routes(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    for entry in found.routes:
        router = store.mesh.membership.peers[entry.peer_id].label
        target = ", ".join(entry.domains) or entry.network
        yield entry.net_id, target, f"by {router}", f"metric {entry.metric}"


def _route_rule(rule: RouteRule) -> Row:
    return (
        "accept" if rule.accept else "drop",
        f"{rule.protocol} {_range(rule.port, rule.ports)}".rstrip(),
        ", ".join(rule.domains) or rule.destination,
        f"from {', '.join(rule.sources)}",
    )


def _dns(store: MapStore, found: NetworkMap) -> Iterator[Row]:
    if found.dns is None:
        return
    if domain := store.mesh.snapshot.settings.dns_domain:
        yield "zone", domain, _count(len(found.names.ids) + 1, "peer")
    for zone in found.dns.zones:
        yield "zone", zone.domain, _count(len(zone.records), "record")
    for group in found.dns.nameserver_groups:
        servers = ", ".join(
            f"{server.ip}:{server.port}" for server in group.nameservers
        )
        yield "servers", ", ".join(group.domains) or "all names", servers


def _ssh(found: NetworkMap) -> Iterator[Row]:
    for login, users in sorted(found.ssh_logins.items()):
        yield "any" if login == "*" else login, _count(len(users), "user")


def _range(port: int | None, ports: tuple[int, int] | None) -> str:
    if ports is not None:
        return f"{ports[0]}-{ports[1]}"
    return "" if port is None else str(port)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
