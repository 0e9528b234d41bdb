"""DNS: the list of zones, what one peer gets, what all get, an explanation.

References are what the same answers cost when nothing has to be decided: hand-written SQL
for exactly the rows needed, and `json.dumps`.
"""
# ruff: noqa: S608 - the pieces of the statements all stand here

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from django.db import connection

from benchmarks import load
from benchmarks.policies import fill_policies
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from meshmgmt.api.renderers import to_json as render
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.explain.answers import (
    account_findings,
    all_peer_dns,
    name_explanation,
    peer_dns,
)
from meshmgmt.explain.api.serializers import PeerDnsSerializer
from meshmgmt.inventory.models import Peer

LIST_LIMIT: Final = 3
PEER_LIMIT: Final = 3
PEER_GUARD: Final = 5.0
ALL_LIMIT: Final = 3
LINT_LIMIT: Final = 2
EXPLAIN_LIMIT: Final = 2
EXPLAIN_GUARD: Final = 2.7
"""What no zone answers is looked for again, in what the peer could be given."""

Rows = list[tuple[Any, ...]]

_MINE: Final = (
    "SELECT group_id FROM groups_grouppeer WHERE peer_id = %(peer)s"
    " UNION SELECT id FROM groups_group WHERE name = 'All' AND issued = 'api'"
)
_ZONES: Final = (
    "SELECT id, name, domain, enable_search_domain FROM dns_zone WHERE enabled AND id"
    f" IN (SELECT zone_id FROM dns_zonegroup WHERE group_id IN ({_MINE})) ORDER BY id"
)
_RECORDS: Final = (
    "SELECT zone_id, canonical_name, type, canonical_content, ttl FROM dns_record"
    f" WHERE zone_id IN (SELECT zone_id FROM dns_zonegroup WHERE group_id IN ({_MINE}))"
    " ORDER BY id"
)
_SERVERS: Final = (
    "SELECT id, name, nameservers, domains, search_domains_enabled"
    " FROM dns_nameservergroup WHERE enabled AND id IN (SELECT nameserver_group_id"
    f" FROM dns_nameservergroupgroup WHERE group_id IN ({_MINE})) ORDER BY id"
)
_ACROSS_RULES: Final = (
    "SELECT d.group_id FROM access_ruledestination d JOIN access_rulesource s"
    f" ON s.rule_id = d.rule_id WHERE s.group_id IN ({_MINE})"
    " UNION SELECT s.group_id FROM access_rulesource s JOIN access_ruledestination d"
    f" ON s.rule_id = d.rule_id WHERE d.group_id IN ({_MINE})"
)
_PEERS: Final = (
    "SELECT p.id, p.name, p.dns_label, p.ip FROM inventory_peer p"
    " LEFT JOIN accounts_user u ON u.id = p.user_id WHERE NOT p.approval_required"
    " AND NOT p.login_expired AND (u.id IS NULL OR NOT u.is_blocked) AND p.id IN ("
    f"SELECT peer_id FROM groups_grouppeer WHERE group_id IN ({_ACROSS_RULES})"
    " UNION SELECT t.peer_id FROM access_route t JOIN access_routegroup g"
    f" ON g.route_id = t.id WHERE t.enabled AND g.group_id IN ({_MINE})"
    " UNION SELECT %(peer)s)"
)
_OTHERS: Final = (
    "SELECT id, name, domain FROM dns_zone WHERE id NOT IN"
    f" (SELECT zone_id FROM dns_zonegroup WHERE group_id IN ({_MINE})) ORDER BY id"
)


def run(workspace: Workspace, report: Report) -> None:
    """Measure on the large profile."""
    _list_of_zones(workspace, report)
    _peers(report)
    fill_policies()
    report.note("with a thousand policies, by which a peer sees most others:")
    _peers(report)


def _peers(report: Report) -> None:
    ids = list(Peer.objects.order_by("id").values_list("pk", flat=True))
    peer_id = ids[len(ids) // 2]
    _one_peer(peer_id, report)
    everybody = _cpu_seconds(_every_zone_of_every_peer)
    name = f"seconds of CPU for the configurations of all {len(ids)} peers"
    report.at_most(name, everybody, 1, ALL_LIMIT)
    lint = _cpu_seconds(account_findings)
    report.at_most("seconds of CPU for the lint of the account", lint, 1, LINT_LIMIT)
    found = peer_dns(peer_id).zones[-1].records[-1].name
    for name in (found, "www.example.org"):
        configured, explained = alternating_medians(
            lambda: peer_dns(peer_id),
            lambda name=name: name_explanation(peer_id, name),  # type: ignore[misc]
            times=15,
        )
        report.at_most(
            f"explanation of {name}",
            explained,
            configured,
            EXPLAIN_LIMIT,
            guard=EXPLAIN_GUARD,
        )


def _every_zone_of_every_peer() -> None:
    for config in all_peer_dns():
        for zone in config.zones:
            assert zone.records[0]  # the peers' own zone is joined when it is read


def _cpu_seconds(action: Callable[[], object], *, times: int = 3) -> float:
    durations = []
    for _ in range(times):
        started = time.process_time()
        action()
        durations.append(time.process_time() - started)
    return statistics.median(durations)


def _list_of_zones(workspace: Workspace, report: Report) -> None:
    client = load.Connection(workspace.server().port)
    request = load.request("GET", "/api/dns/zones", workspace.token())

    def served() -> bytes:
        status, body = client.exchange(request)
        assert status == 200, body[:300]
        return body

    assert json.loads(served()) == json.loads(_zones_by_hand())
    ours, bare = alternating_medians(served, _zones_by_hand)
    client.close()
    report.at_most("GET /api/dns/zones over HTTP", ours, bare, LIST_LIMIT)


def _zones_by_hand() -> str:
    records = defaultdict(list)
    for zone_id, id_, name, type_, content, ttl in _read(
        "SELECT zone_id, id, name, type, content, ttl FROM dns_record ORDER BY id"
    ):
        records[zone_id].append(
            {"id": id_, "name": name, "type": type_, "content": content, "ttl": ttl}
        )
    groups = defaultdict(list)
    for zone_id, group_id in _read(
        "SELECT zone_id, group_id FROM dns_zonegroup ORDER BY position, id"
    ):
        groups[zone_id].append(group_id)
    return json.dumps(
        [
            {
                "id": id_,
                "name": name,
                "domain": domain,
                "enabled": bool(enabled),
                "enable_search_domain": bool(search),
                "distribution_groups": groups[id_],
                "records": records[id_],
            }
            for id_, name, domain, enabled, search in _read(
                "SELECT id, name, domain, enabled, enable_search_domain FROM dns_zone"
                " ORDER BY id"
            )
        ]
    )


def _one_peer(peer_id: str, report: Report) -> None:
    def ours() -> bytes:
        with read_snapshot():
            return render(PeerDnsSerializer.plain(peer_dns(peer_id)))

    def bare() -> str:
        with read_snapshot():
            return _configuration_by_hand(peer_id)

    _same_amount(json.loads(ours()), json.loads(bare()))
    decided, read = alternating_medians(ours, bare, times=25)
    name = "configuration of one peer, as JSON"
    report.at_most(name, decided, read, PEER_LIMIT, guard=PEER_GUARD)


def _same_amount(ours: dict[str, Any], bare: dict[str, Any]) -> None:
    """Check that the reference gets as much as the service gives."""
    for key in ("nameserver_groups", "visible_peers"):
        assert len(ours[key]) == len(bare[key]), key
    counts = [
        [len(zone["records"]) for zone in document["zones"]]
        for document in (ours, bare)
    ]
    assert counts[0] == counts[1]
    out = [x["id"] for x in ours["excluded"] if x["kind"] == "zone"]
    assert out == [x["id"] for x in bare["excluded"]]


def _configuration_by_hand(peer_id: str) -> str:
    [(domain,)] = _read("SELECT dns_domain FROM accounts_account")
    records = defaultdict(list)
    for zone_id, name, type_, content, ttl in _read(_RECORDS, peer_id):
        records[zone_id].append(
            {"name": name, "type": type_, "content": content, "ttl": ttl}
        )
    peers = _read(_PEERS, peer_id)
    own = [
        {"name": f"{label}.{domain}", "type": "A", "content": ip, "ttl": 300}
        for _, _, label, ip in peers
    ]
    zones = [
        {
            "id": id_,
            "name": name,
            "domain": of,
            "search": bool(s),
            "records": records[id_],
        }
        for id_, name, of, s in _read(_ZONES, peer_id)
    ]
    servers = [
        {
            "id": id_,
            "name": name,
            "nameservers": _loaded(nameservers),
            "domains": _loaded(domains),
            "search": bool(search),
        }
        for id_, name, nameservers, domains, search in _read(_SERVERS, peer_id)
    ]
    others = _read(_OTHERS, peer_id)
    return json.dumps(
        {
            "zones": [{"domain": domain, "records": own}, *zones],
            "nameserver_groups": servers,
            "visible_peers": [{"id": id_, "name": name} for id_, name, _, _ in peers],
            "excluded": [{"id": i, "name": n, "domain": d} for i, n, d in others],
        }
    )


def _loaded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _read(sql: str, peer_id: str = "") -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"peer": peer_id} if peer_id else None)
        rows: Rows = cursor.fetchall()
        return rows
