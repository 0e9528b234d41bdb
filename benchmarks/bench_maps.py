"""Network maps: all of them computed and serialized, and what one change costs.

The reference reads the same rows by hand-written SQL and dumps them as JSON objects once.
"""
# ruff: noqa: S608 - the pieces of the statements all stand here

import json
import time
from typing import Final

from django.db import connection

from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from meshmgmt.access.models import PolicyRule
from meshmgmt.accounts.models import Account
from meshmgmt.control.maps import MapStore
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.inventory.models import Peer

ALL_LIMIT: Final = 6
TIMES: Final = 5
MAP_SIZE: Final = (80_000, 130_000)
FEW_LIMIT: Final = 2

_PEER_COLUMNS: Final = (
    "id, wg_public_key, dns_label, ip, ipv6, extra_dns_labels, user_id, ssh_key,"
    " ssh_enabled, version, go_os, os_version, kernel_version, capabilities,"
    " local_flags, network_addresses, connection_ip, files, country_code, city_name,"
    " approval_required, login_expired, login_expiration_enabled, last_login"
)
_ROWS: Final = (
    f"SELECT {_PEER_COLUMNS} FROM inventory_peer ORDER BY id",
    "SELECT group_id, peer_id FROM groups_grouppeer",
    "SELECT group_id, resource_id, resource_type FROM groups_groupresource",
    "SELECT id, name, issued FROM groups_group",
    "SELECT zone_id, canonical_name, type, canonical_content, ttl FROM dns_record",
    "SELECT id, name, domain, enabled, enable_search_domain FROM dns_zone ORDER BY id",
    "SELECT zone_id, group_id FROM dns_zonegroup",
    "SELECT * FROM dns_nameservergroup ORDER BY id",
    "SELECT nameserver_group_id, group_id FROM dns_nameservergroupgroup",
    "SELECT group_id FROM dns_disabledmanagementgroup",
    "SELECT * FROM access_policy ORDER BY id",
    "SELECT * FROM access_policyrule ORDER BY policy_id, position, id",
    "SELECT rule_id, group_id FROM access_rulesource",
    "SELECT rule_id, group_id FROM access_ruledestination",
    "SELECT * FROM access_posturecheck",
    "SELECT * FROM access_route ORDER BY id",
    "SELECT route_id, group_id FROM access_routegroup",
    "SELECT route_id, group_id FROM access_routepeergroup",
    "SELECT * FROM access_router ORDER BY id",
    "SELECT router_id, group_id FROM access_routerpeergroup",
    "SELECT * FROM inventory_networkresource ORDER BY id",
    "SELECT id, is_blocked, pending_approval, is_service_user FROM accounts_user",
    "SELECT user_id, group_id FROM access_userautogroup",
    "SELECT * FROM accounts_account",
)


def run(workspace: Workspace, report: Report) -> None:
    """Measure on the large profile."""
    ids = list(Peer.objects.order_by("id").values_list("pk", flat=True))
    size = _all_maps(ids) / len(ids)
    assert MAP_SIZE[0] < size < MAP_SIZE[1], size
    ours, bare = alternating_medians(lambda: _all_maps(ids), _by_hand, times=TIMES)
    name = f"all {len(ids)} maps of {size / 1000:.0f} kB, reading included"
    report.at_most(name, ours, bare, ALL_LIMIT)
    _changes(ids, report)


def _all_maps(ids: list[str]) -> int:
    """Make every message as a process does that begins; return their size together."""
    store = MapStore(serving=False)
    store.refresh()
    return sum(len(store.message(peer_id)) for peer_id in ids)


def _by_hand() -> int:
    with read_snapshot(), connection.cursor() as cursor:
        rows = []
        for statement in _ROWS:
            cursor.execute(statement)
            names = [column[0] for column in cursor.description]
            rows += [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return len(json.dumps(rows, default=str))


def _changes(ids: list[str], report: Report) -> None:
    """Follow single changes with everybody connected."""
    store = MapStore()
    store.refresh()
    for peer_id in ids:
        store.message(peer_id)

    def few() -> None:
        rule = PolicyRule.objects.order_by("id")[0]
        rule.ports = [] if rule.ports else ["8443"]
        rule.protocol = "tcp"
        rule.save()
        _follow(store, ids)

    changed, bare = alternating_medians(few, _by_hand, times=TIMES)
    name = "a rule changes: its 200 peers' maps, of all rows read"
    report.at_most(name, changed, bare, FEW_LIMIT)
    account = Account.objects.get()
    account.lazy_connection_enabled = not account.lazy_connection_enabled
    account.save()
    seconds = _follow(store, ids)
    report.note(f"a setting of the account, {len(ids)} maps: {seconds:.2f} s")


def _follow(store: MapStore, ids: list[str]) -> float:
    """Make the messages that are due; return how long that took."""
    started = time.perf_counter()
    told = [id_ for id_ in store.refresh().chosen_from(ids) if store.changed(id_)]
    assert told
    return time.perf_counter() - started
