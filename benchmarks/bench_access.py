"""Peers and policies: the two long lists of the second ring.

References are hand-written SQL for exactly the rows needed, and `json.dumps` of the same
answer.
"""

import json
from collections import defaultdict
from itertools import count
from typing import Any, Final

from django.db import connection

from benchmarks import load
from benchmarks.policies import fill_policies
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from meshmgmt.inventory.rules import LOCAL_FLAGS

LIMIT: Final = 3

Rows = list[tuple[Any, ...]]
NEVER: Final = "0001-01-01T00:00:00Z"

_PEER: Final = (
    "id",
    "name",
    "ip",
    "connection_ip",
    "connected",
    "os",
    "kernel_version",
    "geoname_id",
    "version",
    "ssh_enabled",
    "hostname",
    "ui_version",
    "login_expiration_enabled",
    "login_expired",
    "inactivity_expiration_enabled",
    "approval_required",
    "country_code",
    "city_name",
    "serial_number",
    "ephemeral",
)


def run(workspace: Workspace, report: Report) -> None:
    """Measure on the large profile, filled up to a thousand policies."""
    fill_policies()
    _compare(workspace, report, "/api/peers", _peers_by_hand)
    _compare(workspace, report, "/api/policies", _policies_by_hand)


def _compare(workspace: Workspace, report: Report, path: str, by_hand: Any) -> None:
    client = load.Connection(workspace.server().port)
    token, numbers = workspace.token(), count()

    def served() -> bytes:
        # Another address each time: what is kept for it is not what is measured.
        message = load.request("GET", f"{path}?{next(numbers)}", token)
        status, body = client.exchange(message)
        assert status == 200, body[:300]
        return body

    answer, expected = json.loads(served()), json.loads(by_hand())
    assert len(answer) == len(expected)
    assert answer == expected, _difference(answer, expected)
    ours, bare = alternating_medians(served, by_hand)
    client.close()
    report.at_most(f"GET {path} ({len(answer)}) over HTTP", ours, bare, LIMIT)


def _difference(answer: list[Any], expected: list[Any]) -> str:
    pair = next(
        pair for pair in zip(answer, expected, strict=True) if pair[0] != pair[1]
    )
    return f"{pair[0]}\n{pair[1]}"


def _short_groups() -> dict[str, dict[str, Any]]:
    counts: dict[str, int] = dict(
        _read("SELECT group_id, count(*) FROM groups_grouppeer GROUP BY group_id")
    )
    resources: dict[str, int] = dict(
        _read("SELECT group_id, count(*) FROM groups_groupresource GROUP BY group_id")
    )
    everybody = _read("SELECT count(*) FROM inventory_peer")[0][0]
    return {
        id_: {
            "id": id_,
            "name": name,
            "peers_count": everybody if name == "All" else counts.get(id_, 0),
            "resources_count": resources.get(id_, 0),
        }
        for id_, name in _read("SELECT id, name FROM groups_group ORDER BY id")
    }


def _peers_by_hand() -> str:
    groups = _short_groups()
    common = [group for group in groups.values() if group["name"] == "All"]
    by_peer: dict[str, list[Any]] = defaultdict(lambda: [*common])
    for peer_id, group_id in _read(
        "SELECT peer_id, group_id FROM groups_grouppeer ORDER BY group_id, id"
    ):
        by_peer[peer_id].append(groups[group_id])
    domain = _read("SELECT dns_domain FROM accounts_account")[0][0]
    columns = ", ".join(_PEER)
    rows = []
    for values in _read(
        f"SELECT {columns}, dns_label, user_id, ipv6, extra_dns_labels, local_flags,"  # noqa: S608
        " last_seen, last_login, created_at, disapproval_reason"
        " FROM inventory_peer ORDER BY id"
    ):
        *plain, label, user, ipv6, extra, flags, seen, login, created, reason = values
        row = dict(zip(_PEER, plain, strict=True))
        for name in _TRUTHS:
            row[name] = bool(row[name])
        given = _json(flags)
        row["dns_label"] = f"{label}.{domain}"
        row["user_id"] = user or ""
        row["extra_dns_labels"] = [f"{text}.{domain}" for text in _json(extra)]
        row["local_flags"] = {flag: bool(given.get(flag)) for flag in LOCAL_FLAGS}
        row["last_seen"] = _moment(seen)
        row["last_login"] = _moment(login)
        row["created_at"] = _moment(created)
        row["groups"] = by_peer[row["id"]]
        row["accessible_peers_count"] = 0
        if ipv6:
            row["ipv6"] = ipv6
        if reason:
            row["disapproval_reason"] = reason
        rows.append(row)
    return json.dumps(rows)


_TRUTHS: Final = (
    "connected",
    "ssh_enabled",
    "login_expiration_enabled",
    "login_expired",
    "inactivity_expiration_enabled",
    "approval_required",
    "ephemeral",
)


def _json(value: Any) -> Any:
    """Return a JSON column: SQLite gives text, so does psycopg under Django."""
    return json.loads(value) if isinstance(value, str) else value


def _moment(value: Any) -> str:
    """Return a moment as the API writes it; SQLite gives text."""
    if value is None:
        return NEVER
    text = value if isinstance(value, str) else value.isoformat()
    whole = text.replace(" ", "T").removesuffix("+00:00")
    return f"{whole}Z"


def _lists(table: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    sql = f"SELECT rule_id, group_id FROM {table} ORDER BY position, id"  # noqa: S608
    for rule_id, group_id in _read(sql):
        found[rule_id].append(group_id)
    return found


def _policies_by_hand() -> str:
    groups = _short_groups()
    sources, destinations = (
        _lists("access_rulesource"),
        _lists("access_ruledestination"),
    )
    users: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for rule_id, group_id, text in _read(
        "SELECT rule_id, group_id, local_users FROM access_ruleauthorizedgroup"
        " ORDER BY position, id"
    ):
        users[rule_id][group_id] = text.splitlines()
    checks: dict[str, list[str]] = defaultdict(list)
    for policy_id, check_id in _read(
        "SELECT policy_id, posture_check_id FROM access_policyposturecheck"
        " ORDER BY position, id"
    ):
        checks[policy_id].append(check_id)
    rules: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for values in _read(
        "SELECT policy_id, id, name, description, enabled, action, bidirectional,"
        " protocol, ports, port_ranges, source_resource_id, source_resource_type,"
        " destination_resource_id, destination_resource_type FROM access_policyrule"
        " ORDER BY position, id"
    ):
        policy_id, id_, name, description, enabled, action, both, protocol = values[:8]
        rule: dict[str, Any] = {
            "id": id_,
            "name": name,
            "description": description,
            "enabled": bool(enabled),
            "action": action,
            "bidirectional": bool(both),
            "protocol": protocol,
            "sources": [groups[pk] for pk in sources[id_]],
            "destinations": [groups[pk] for pk in destinations[id_]],
        }
        for part, value in zip(("ports", "port_ranges"), values[8:10], strict=True):
            if found := _json(value):
                rule[part] = found
        if values[10]:
            rule["sourceResource"] = {"id": values[10], "type": values[11]}
        if values[12]:
            rule["destinationResource"] = {"id": values[12], "type": values[13]}
        if id_ in users:
            rule["authorized_groups"] = users[id_]
        rules[policy_id].append(rule)
    return json.dumps(
        [
            {
                "id": id_,
                "name": name,
                "description": description,
                "enabled": bool(enabled),
                "source_posture_checks": checks[id_],
                "rules": rules[id_],
            }
            for id_, name, description, enabled in _read(
                "SELECT id, name, description, enabled FROM access_policy ORDER BY id"
            )
        ]
    )


def _read(sql: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        rows: Rows = cursor.fetchall()
        return rows
