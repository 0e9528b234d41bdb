"""The statements that read a snapshot, as plain rows, for they are many.

Lists of groups come as one `UNION ALL`. The statements hold names of tables and columns
alone; values are parameters.
"""
# ruff: noqa: S608 - see above

from collections.abc import Sequence
from typing import Any, Final

from django.db import connection, models

from dns.content import DIGEST_MARK
from dns.models import (
    DisabledManagementGroup,
    NameserverGroup,
    NameserverGroupGroup,
    Record,
    Zone,
    ZoneGroup,
)
from groups.models import ALL, Group, GroupPeer, GroupResource, Issued
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
    UserAutoGroup,
)
from meshmgmt.accounts.models import User
from meshmgmt.core.names import MAX_OCTETS
from meshmgmt.inventory.models import NetworkResource, Peer

Rows = list[tuple[Any, ...]]

_LISTS: Final = (
    ("source", RuleSource),
    ("destination", RuleDestination),
    ("authorized", RuleAuthorizedGroup),
    ("route", RouteGroup),
    ("route_peer", RoutePeerGroup),
    ("route_access", RouteAccessControlGroup),
    ("router_peer", RouterPeerGroup),
    ("zone", ZoneGroup),
    ("nameserver_group", NameserverGroupGroup),
    ("unmanaged", DisabledManagementGroup),
    ("user", UserAutoGroup),
    ("check", PolicyPostureCheck),
)
_MEMBER_COLUMN: Final = {"check": "posture_check_id"}


def lists() -> Rows:
    """Return (kind, owner id, member id, local logins) of every list of groups.

    Kinds are those of `_LISTS`, `resource` (groups that list a resource of a network)
    and `everybody` (the group of all peers).
    """
    arms = [
        f"SELECT '{kind}', CAST({link.owner_field}_id AS text),"
        f" {_MEMBER_COLUMN.get(kind, 'group_id')},"
        f" {'local_users' if kind == 'authorized' else chr(39) * 2} FROM {_table(link)}"
        for kind, link in _LISTS
    ]
    arms.append(
        f"SELECT 'resource', resource_id, group_id, '' FROM {_table(GroupResource)}"
        " WHERE resource_type <> 'peer'"
    )
    arms.append(
        f"SELECT 'everybody', '', id, '' FROM {_table(Group)}"
        " WHERE name = %s AND issued = %s"
    )
    return _read(f"{' UNION ALL '.join(arms)} ORDER BY 1, 2, 3", [ALL, Issued.API])


def peers(ids: Sequence[str] | None) -> Rows:
    """Return the columns that `loading.rows.peer` takes, of some peers or all."""
    return _chosen(
        "SELECT id, wg_public_key, dns_label, ip, ipv6, CAST(extra_dns_labels AS text),"
        " user_id, ssh_key, ssh_enabled, version, go_os, os_version, kernel_version,"
        " CAST(capabilities AS text), CAST(local_flags AS text),"
        " CAST(network_addresses AS text), connection_ip, CAST(files AS text),"
        " country_code, city_name, approval_required, login_expired,"
        " login_expiration_enabled, COALESCE(last_login, created_at)"
        f" FROM {_table(Peer)}",
        "id",
        ids,
    )


def members(group_ids: Sequence[str] | None) -> Rows:
    """Return (group id, peer id) of the members of some groups or all."""
    sql = f"SELECT group_id, peer_id FROM {_table(GroupPeer)}"
    return _chosen(sql, "group_id", group_ids)


def records(zone_ids: Sequence[str] | None) -> Rows:
    """Return (zone id, name, type, content, ttl) of the records of some zones or all.

    Names that are too long for a query, or digests of such, are left out: `#` begins
    no other name.
    """
    return _chosen(
        "SELECT zone_id, canonical_name, type, canonical_content, ttl"
        f" FROM {_table(Record)} WHERE LENGTH(canonical_name) <= {MAX_OCTETS}"
        f" AND LENGTH(canonical_content) <= {MAX_OCTETS}"
        f" AND SUBSTR(canonical_name, 1, 1) <> '{DIGEST_MARK}'"
        f" AND SUBSTR(canonical_content, 1, 1) <> '{DIGEST_MARK}'",
        "zone_id",
        zone_ids,
        order="zone_id, id",
    )


def rules() -> Rows:
    """Return each policy (id, enabled, name), with the columns of its rules or nulls."""
    return _read(
        "SELECT p.id, p.enabled, p.name, r.id, r.enabled, r.action, r.bidirectional,"
        " r.protocol, CAST(r.ports AS text), CAST(r.port_ranges AS text),"
        " r.source_resource_type, r.source_resource_id, r.destination_resource_type,"
        f" r.destination_resource_id FROM {_table(Policy)} p"
        f" LEFT JOIN {_table(PolicyRule)} r ON r.policy_id = p.id"
        " ORDER BY p.id, r.position, r.id"
    )


def routes() -> Rows:
    return _all(
        Route,
        "id, network_id, network, CAST(domains AS text), peer_id, metric,"
        " masquerade, keep_route, skip_auto_apply, enabled",
    )


def routers() -> Rows:
    return _all(Router, "id, network_id, peer_id, metric, masquerade, enabled")


def resources() -> Rows:
    return _all(NetworkResource, "id, network_id, name, address, type, enabled")


def users() -> Rows:
    """Return (id, blocked, pending, service user, subject) of all users."""
    return _all(User, "id, is_blocked, pending_approval, is_service_user, subject")


def zones() -> Rows:
    """Return (id, name, domain, enabled, search) of all zones."""
    return _all(Zone, "id, name, domain, enabled, enable_search_domain")


def nameserver_groups() -> Rows:
    return _all(
        NameserverGroup,
        "id, name, CAST(nameservers AS text), CAST(domains AS text),"
        ' "primary", enabled, search_domains_enabled',
    )


def _all(model: type[models.Model], columns: str) -> Rows:
    return _read(f"SELECT {columns} FROM {_table(model)} ORDER BY id")


def _chosen(
    sql: str, column: str, ids: Sequence[str] | None, *, order: str = ""
) -> Rows:
    if ids is None:
        return _read(f"{sql} ORDER BY {order}" if order else sql)
    if not ids:
        return []
    where = "AND" if " WHERE " in sql else "WHERE"
    chosen = f"{sql} {where} {column} IN ({', '.join(['%s'] * len(ids))})"
    return _read(f"{chosen} ORDER BY {order}" if order else chosen, ids)


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table


def _read(sql: str, values: Sequence[Any] = ()) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        rows: Rows = cursor.fetchall()
        return rows
