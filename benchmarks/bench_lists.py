"""Long lists over HTTP against bare SQL and json.dumps of the same answer.

`GET /api/groups` (500 groups, 50,000 memberships) and `GET /api/dns/zones` (200 zones,
20,000 records) of the large mesh, by one client on one connection.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from django.db import connection

from benchmarks.load import Connection, request
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace

LIMIT: Final = 3.0
ALL: Final = "All"

Row = tuple[Any, ...]


def run(workspace: Workspace, report: Report) -> None:
    """Compare both lists with their bare counterparts."""
    for path, bare in (("/api/groups", bare_groups), ("/api/dns/zones", bare_zones)):
        _compare(workspace, report, path, bare)


def _compare(
    workspace: Workspace, report: Report, path: str, bare: Callable[[], bytes]
) -> None:
    http = Connection(workspace.server().port)
    message = request("GET", path, workspace.token())
    status, body = http.exchange(message)
    assert status == 200, body[:300]
    assert json.loads(body) == json.loads(bare()), f"{path}: not the same answer"
    measured, reference = alternating_medians(lambda: http.exchange(message), bare)
    report.at_most(f"GET {path} ({len(body) // 1024} KiB)", measured, reference, LIMIT)
    http.close()


def _select(statement: str) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def bare_groups() -> bytes:
    """Return the list of groups with nothing in between the database and JSON."""
    peers: dict[str, list[dict[str, str]]] = defaultdict(list)
    for group, pk, name in _select(
        "SELECT m.group_id, p.id, p.name FROM groups_grouppeer m"
        " JOIN inventory_peer p ON p.id = m.peer_id ORDER BY m.position, m.id"
    ):
        peers[group].append({"id": pk, "name": name})
    resources: dict[str, list[dict[str, str]]] = defaultdict(list)
    for group, pk, kind in _select(
        "SELECT group_id, resource_id, resource_type FROM groups_groupresource"
        " ORDER BY position, id"
    ):
        resources[group].append({"id": pk, "type": kind})
    everybody = [
        {"id": pk, "name": name}
        for pk, name in _select("SELECT id, name FROM inventory_peer ORDER BY id")
    ]
    rows = []
    for pk, name, issued in _select(
        "SELECT id, name, issued FROM groups_group ORDER BY id"
    ):
        members = everybody if (name, issued) == (ALL, "api") else peers[pk]
        rows.append(
            {
                "id": pk,
                "name": name,
                "issued": issued,
                "peers_count": len(members),
                "resources_count": len(resources[pk]),
                "peers": members,
                "resources": resources[pk],
            }
        )
    return json.dumps(rows).encode()


def bare_zones() -> bytes:
    """Return the list of zones with nothing in between the database and JSON."""
    groups: dict[str, list[str]] = defaultdict(list)
    for zone, group in _select(
        "SELECT zone_id, group_id FROM dns_zonegroup ORDER BY position, id"
    ):
        groups[zone].append(group)
    records: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for zone, pk, name, kind, content, ttl in _select(
        "SELECT zone_id, id, name, type, content, ttl FROM dns_record ORDER BY id"
    ):
        records[zone].append(
            {"id": pk, "name": name, "type": kind, "content": content, "ttl": ttl}
        )
    rows = [
        {
            "id": pk,
            "name": name,
            "domain": domain,
            "enabled": bool(enabled),
            "enable_search_domain": bool(search),
            "distribution_groups": groups[pk],
            "records": records[pk],
        }
        for pk, name, domain, enabled, search in _select(
            "SELECT id, name, domain, enabled, enable_search_domain FROM dns_zone"
            " ORDER BY id"
        )
    ]
    return json.dumps(rows).encode()
