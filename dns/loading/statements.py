"""The statements that read a snapshot: one for each shape of rows.

Small facts of many tables come as one `UNION ALL`, so that their number does not grow
with the number of tables, and as plain tuples, for they are many. The statements hold
table names alone; values are parameters.
"""
# ruff: noqa: S608 - see above

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection, models

from dns.models import (
    DisabledManagementGroup,
    NameserverGroup,
    NameserverGroupGroup,
    Record,
    Zone,
    ZoneGroup,
)
from groups.models import ALL, Group, GroupLink, GroupPeer, GroupResource, Issued
from meshmgmt.access.models import (
    Action,
    Policy,
    PolicyRule,
    Route,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.accounts.models import Account
from meshmgmt.inventory.models import NetworkResource, Peer

Rows = list[tuple[Any, ...]]

_LISTS: tuple[tuple[str, type[GroupLink]], ...] = (
    ("nameserver_group", NameserverGroupGroup),
    ("zone", ZoneGroup),
    ("disabled", DisabledManagementGroup),
    ("source", RuleSource),
    ("destination", RuleDestination),
    ("route", RouteGroup),
    ("route_peer", RoutePeerGroup),
    ("router_peer", RouterPeerGroup),
)


def peer_row(peer_id: str) -> tuple[Any, ...] | None:
    """Return the account's DNS domain and the columns of `peer_columns` of a peer."""
    sql = (
        f"SELECT (SELECT dns_domain FROM {_table(Account)}), {peer_columns()}"
        f" FROM {_table(Peer)} p WHERE p.id = %s"
    )
    rows = _read(sql, [peer_id])
    return rows[0] if rows else None


def dns_domain() -> str:
    """Return the account's DNS domain, "" without an account."""
    rows = _read(f"SELECT dns_domain FROM {_table(Account)}", [])
    return rows[0][0] if rows else ""


def group_links(peer_id: str | None) -> Rows:
    """Return (kind, owner id, group id, group name) of every list of groups.

    Kinds are those of `_LISTS`, `resource` (groups of resources), `all` (the group of
    all peers) and `member` (groups of the peer `peer_id`; of all peers for None).
    """
    return _read(
        _group_links_sql(every=peer_id is None),
        [ALL, Issued.API, *([] if peer_id is None else [peer_id])],
    )


def heads() -> Rows:
    """Return zones and nameserver groups, each in order of creation.

    Columns: kind, id, name, enabled, search, primary, domain or JSON list of domains,
    JSON list of nameservers, whether a zone has records.
    """
    return _read(_heads_sql(), [])


def reach_facts() -> Rows:
    """Return what decides who sees whom, apart from groups; switched-off things not.

    Columns: kind (`rule`, `route`, `router`, `resource`), id, parent (policy or
    network), name of policy or route, position, source type, source id, destination
    type, destination id. Routes and routers have their peer as source id.
    """
    return _read(_reach_facts_sql(), [Action.ACCEPT])


def records(zone_ids: Sequence[str] | None) -> Rows:
    """Return (zone, id, canonical name, type, canonical content, ttl, name, content).

    Of the zones given, or of all for None, in order of creation.
    """
    sql = (
        "SELECT zone_id, id, canonical_name, type, canonical_content, ttl, name, content"
        f" FROM {_table(Record)}"
    )
    if zone_ids is None:
        return _read(f"{sql} ORDER BY id", [])
    marks = _marks(zone_ids)
    return _read(f"{sql} WHERE zone_id IN ({marks}) ORDER BY id", zone_ids)


def members(
    group_ids: Sequence[str], peer_ids: Sequence[str], *, everybody: bool = False
) -> Rows:
    """Return (group id, peer columns...) of groups' members.

    The group is "" for the peers `peer_ids`, with `everybody` for all peers.
    """
    arms: list[str] = []
    values: list[str] = []
    if group_ids:
        arms.append(
            f"SELECT m.group_id, {peer_columns()} FROM {_table(GroupPeer)} m"
            f" JOIN {_table(Peer)} p ON p.id = m.peer_id"
            f" WHERE m.group_id IN ({_marks(group_ids)})"
        )
        values += group_ids
    if everybody:
        arms.append(f"SELECT '', {peer_columns()} FROM {_table(Peer)} p")
    elif peer_ids:
        arms.append(
            f"SELECT '', {peer_columns()} FROM {_table(Peer)} p"
            f" WHERE p.id IN ({_marks(peer_ids)})"
        )
        values += peer_ids
    return _read(" UNION ALL ".join(arms), values) if arms else []


def all_peers() -> Rows:
    """Return ("", peer columns...) of every peer, in order of creation."""
    return _read(
        f"SELECT '', {peer_columns()} FROM {_table(Peer)} p ORDER BY p.id",
        [],
    )


def peer_columns() -> str:
    """Columns of a peer `p`.

    Id, name, label, addresses, extra labels (JSON text), whether it waits for approval.
    """
    return (
        "p.id, p.name, p.dns_label, p.ip, p.ipv6, CAST(p.extra_dns_labels AS text),"
        " p.approval_required"
    )


@cache
def _group_links_sql(*, every: bool) -> str:
    arms = [
        f"SELECT '{kind}', CAST(l.{link.owner_field}_id AS text), g.id, g.name"
        f" FROM {_table(link)} l JOIN {_table(Group)} g ON g.id = l.group_id"
        for kind, link in _LISTS
    ]
    arms.append(
        "SELECT 'resource', l.resource_id, g.id, g.name"
        f" FROM {_table(GroupResource)} l JOIN {_table(Group)} g ON g.id = l.group_id"
        " WHERE l.resource_type <> 'peer'"
    )
    arms.append(
        f"SELECT 'all', '', g.id, g.name FROM {_table(Group)} g"
        " WHERE g.name = %s AND g.issued = %s"
    )
    member = (
        "SELECT 'member', l.peer_id, g.id, g.name"
        f" FROM {_table(GroupPeer)} l JOIN {_table(Group)} g ON g.id = l.group_id"
    )
    arms.append(member if every else f"{member} WHERE l.peer_id = %s")
    return " UNION ALL ".join(arms)


@cache
def _heads_sql() -> str:
    return (
        "SELECT 'zone', z.id, z.name, z.enabled, z.enable_search_domain,"
        " z.enabled AND NOT z.enabled, z.domain, '[]',"
        f" EXISTS (SELECT 1 FROM {_table(Record)} r WHERE r.zone_id = z.id)"
        f" FROM {_table(Zone)} z"
        " UNION ALL "
        "SELECT 'nameserver_group', n.id, n.name, n.enabled,"
        ' n.search_domains_enabled, n."primary", CAST(n.domains AS text),'
        f" CAST(n.nameservers AS text), n.enabled FROM {_table(NameserverGroup)} n"
        " ORDER BY 2"
    )


@cache
def _reach_facts_sql() -> str:
    return (
        "SELECT 'rule', r.id, p.id, p.name, r.position, r.source_resource_type,"
        " r.source_resource_id, r.destination_resource_type, r.destination_resource_id"
        f" FROM {_table(PolicyRule)} r JOIN {_table(Policy)} p ON p.id = r.policy_id"
        " WHERE r.enabled AND p.enabled AND r.action = %s"
        " UNION ALL "
        "SELECT 'route', t.id, '', t.network_id, 0, 'peer', t.peer_id, '', ''"
        f" FROM {_table(Route)} t WHERE t.enabled"
        " UNION ALL "
        "SELECT 'router', u.id, u.network_id, '', 0, 'peer', u.peer_id, '', ''"
        f" FROM {_table(Router)} u WHERE u.enabled"
        " UNION ALL "
        "SELECT 'resource', s.id, s.network_id, s.name, 0, '', '', '', ''"
        f" FROM {_table(NetworkResource)} s WHERE s.enabled"
        " ORDER BY 3, 5, 2"
    )


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table


def _marks(values: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(values))


def _read(sql: str, values: Sequence[Any]) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        rows: Rows = cursor.fetchall()
        return rows
