"""Looking back and taking back beside a long audit trail, against the same without.

A million events spread over a year: members that come and go, most of them in one group
and in three more, the rest in all groups; records that change; nameserver groups for other
groups, by events that tell whole lists. `?at=` may cost five times the plain answer and
0.3 s; a revert, or its refusal, 0.5 s, with the lock held 0.1 s longer than by hand.
"""

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import orjson
from django.db import connection

from benchmarks.load import Connection, request
from benchmarks.report import Report, alternating_medians, median_seconds
from benchmarks.workspace import OWNER, Workspace
from dns.models import NameserverGroup, NameserverGroupGroup, Record
from events.activities import Activity
from events.audit.reading import event_by_id, last_id
from events.audit.specs import history_key
from events.models import AuditEvent
from groups.models import Group, GroupPeer
from groups.services import group_create, group_delete
from meshmgmt.accounts.models import User
from meshmgmt.core import clock, context
from meshmgmt.core.orderedlinks import append_members, drop_members
from meshmgmt.core.queries import columns_of, insert_rows
from meshmgmt.core.transactions import account_write, lock_held
from meshmgmt.history.inverse import Irreversible
from meshmgmt.history.reverting import Reversal
from meshmgmt.inventory.models import Peer

EVENTS: Final = int(os.environ.get("BENCH_HISTORY_EVENTS", "1000000"))
YEAR: Final = timedelta(days=365)
POOL: Final = 200
"""So many peers come to a group and go, but for the four busy ones."""
CHUNK: Final = 5000
GONE: Final = 6
OF_GONE: Final = 100
"""Groups with so many members are deleted first, and come back last."""
COLUMNS: Final = columns_of(AuditEvent)[1:]
DAYS: Final = (1, 59, 180, 364)
GUARDS: Final = {
    "/api/groups": 3.3,
    "/api/dns/zones": 1.25,
    "/api/policies": 5.0,
    "/api/access/explain": 7.0,
}
"""For what nearly all of has changed; see docs/performance.md."""


Row = list[Any]
Facts = dict[str, Any]


def run(workspace: Workspace, report: Report) -> None:
    """Fill the trail, then look back from near and far, and take changes back."""
    gone = _delete_groups()
    _fill(report)
    _look_back(workspace, report)
    _take_back(report)
    _bring_back(workspace, report, gone)


def _delete_groups() -> list[int]:
    """Make groups and delete them; return the events of that, older than all others."""
    peers = list(Peer.objects.values_list("pk", flat=True)[:OF_GONE])
    made = [group_create(name=f"gone {n}", peers=peers) for n in range(GONE)]
    for group in made:
        group_delete(group_id=group.pk)
    ended = AuditEvent.objects.filter(activity_code=Activity.GROUP_DELETE)
    return list(ended.order_by("-id").values_list("pk", flat=True)[:GONE])


def _fill(report: Report) -> None:
    """Write the rows as they are stored: events made one by one take ten times as long."""
    rows = [
        row for row, _ in zip(_newest_first(Random(1)), range(EVENTS), strict=False)
    ]
    rows.reverse()
    started = clock.now()
    _forget_search()
    for begin in range(0, len(rows), CHUNK):
        with account_write():
            insert_rows(AuditEvent, COLUMNS, rows[begin : begin + CHUNK])
    if connection.vendor == "postgresql":  # autovacuum does it, in its own time
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE events_auditevent")
    report.note(f"{len(rows):,} events in {(clock.now() - started).seconds} s")


def _forget_search() -> None:
    """Leave the full-text index out: it is not asked here, and takes the longest."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER IF EXISTS events_auditevent_fts_insert")
        else:
            cursor.execute("DROP INDEX IF EXISTS audit_search")


def _newest_first(random: Random) -> Iterator[Row]:
    """Yield rows of events that lead to what is there now, and end a year ago."""
    groups = list(Group.objects.exclude(name="All").values_list("pk", flat=True))
    peers = list(Peer.objects.values_list("pk", flat=True))
    there = set(GroupPeer.objects.values_list("group_id", "peer_id"))
    ttls = dict(Record.objects.values_list("pk", "ttl"))
    servers = list(NameserverGroup.objects.values_list("pk", flat=True))
    served = NameserverGroupGroup.objects.values_list("nameserver_group", "group")
    lists, records = set(served), list(ttls)
    now, step = clock.now() - timedelta(hours=1), YEAR / EVENTS
    for place in count():
        moment = now - step * place
        chance = random.random()
        if chance < 0.1:
            pk = random.choice(records)
            before, after = random.choice((60, 300, 3600)), ttls[pk]
            ttls[pk] = before
            yield _record_row(moment, pk, before, after)
            continue
        if chance < 0.105:
            pair = random.choice(servers), random.choice(groups)
            yield _list_row(moment, *pair, came=pair in lists)
            lists ^= {pair}
            continue
        few = 1 if chance < 0.5 else 4 if chance < 0.8 else len(groups)
        number = random.randrange(few)
        pool = peers if few < len(groups) else peers[number * 7 :][:POOL]
        pair = groups[number], random.choice(pool)
        came = pair in there
        there ^= {pair}
        yield _member_row(moment, *pair, came=came)


def _record_row(moment: datetime, pk: str, before: int, after: int) -> Row:
    code = Activity.DNS_ZONE_RECORD_UPDATE
    meta = {"name": "www", "type": "A"}
    changes = {"ttl": {"before": before, "after": after}}
    return _row(moment, code, pk, "record", meta=meta, changes=changes)


def _list_row(moment: datetime, pk: str, group: str, *, came: bool) -> Row:
    told = {"added": [group] * came, "removed": [group] * (not came)}
    code, meta = Activity.NAMESERVER_GROUP_UPDATE, {"name": "ns"}
    return _row(
        moment, code, pk, "nameservergroup", meta=meta, changes={"groups": told}
    )


def _member_row(moment: datetime, group: str, peer: str, *, came: bool) -> Row:
    code = Activity.PEER_GROUP_ADD if came else Activity.PEER_GROUP_DELETE
    meta = {"group": "one of many", "group_id": group, "peer_ip": "100.64.0.1"}
    return _row(moment, code, peer, "peer", meta=meta, changes={})


def _row(
    moment: datetime,
    code: Activity,
    pk: str,
    kind: str,
    *,
    meta: Facts,
    changes: Facts,
) -> Row:
    told = {
        "activity_code": code.value,
        "target_id": pk,
        "target_type": kind,
        "meta": meta,
        "changes": changes,
    }
    row = {
        **dict.fromkeys(COLUMNS, ""),
        **told,
        "timestamp": connection.ops.adapt_datetimefield_value(moment),
        "initiator_email": OWNER,
        "meta": orjson.dumps(meta).decode(),
        "changes": orjson.dumps(changes).decode(),
        "history_key": history_key(SimpleNamespace(**told)),
    }
    return list(row.values())


def _look_back(workspace: Workspace, report: Report) -> None:
    busy, quiet = Group.objects.exclude(name="All").order_by("pk")[:2]
    one, other = Peer.objects.order_by("pk").values_list("pk", flat=True)[:2]
    client = Connection(workspace.server().port)
    token = workspace.token()

    def asking(path: str) -> Callable[[], bytes]:
        message = request("GET", path, token)

        def ask() -> bytes:
            status, body = client.exchange(message)
            assert status == 200, body[:300]
            return body

        return ask

    for path in (
        "/api/groups",
        f"/api/groups/{busy.pk}",
        f"/api/groups/{quiet.pk}",
        "/api/dns/zones",
        "/api/dns/nameservers",
        "/api/dns/settings",
        "/api/policies",
        f"/api/access/explain?source={one}&destination={other}&protocol=tcp&port=22",
    ):
        for days in DAYS:
            moment = (clock.now() - timedelta(days=days)).isoformat()
            past = f"{path}{'&' if '?' in path else '?'}at={quote(moment)}"
            now, then = alternating_medians(asking(path), asking(past), times=3)
            asked = path.partition("?")[0]
            name = f"GET {asked} {days} days back, against 5 times now and 0.3 s"
            report.at_most(name, then, 5 * now + 0.3, 1, guard=GUARDS.get(asked))
    client.close()


def _take_back(report: Report) -> None:
    """Compare reverts of a member's coming with taking it out by hand."""
    busy = Group.objects.exclude(name="All").order_by("pk")[0]
    peers = GroupPeer.objects.filter(group=busy).values_list("peer_id", flat=True)
    peer, by = peers[0], User.objects.get(email=OWNER)
    held: list[float] = []

    def note(sender: object, seconds: float, **_: Any) -> None:
        held.append(seconds)

    def by_hand() -> None:
        with context.scope(request_id="x" * 20):
            drop_members(GroupPeer, busy, [peer])
        append_members(GroupPeer, busy, [peer])

    def revert() -> None:
        drop_members(GroupPeer, busy, [peer])
        Reversal([event_by_id(str(last_id()))]).carry_out(by)

    lock_held.connect(note)
    try:
        median_seconds(by_hand)
        manual, held[:] = max(held), []
        seconds = median_seconds(revert)
    finally:
        lock_held.disconnect(note)
    report.at_most("a revert, against 0.5 s", seconds, 0.5, 1)
    report.at_most(
        "lock held by it, against by hand and 0.1 s",
        max(held),
        manual + 0.1,
        1,
    )
    for days in DAYS:
        refused = median_seconds(_refusal(days, by))
        name = f"a revert of {days} days back that is refused, against 0.5 s"
        report.at_most(name, refused, 0.5, 1)


def _refusal(days: int, by: User) -> Callable[[], None]:
    """Return what is refused: to take the change of a record back that changed since."""
    old = AuditEvent.objects.filter(
        timestamp__lt=clock.now() - timedelta(days=days),
        activity_code=Activity.DNS_ZONE_RECORD_UPDATE,
    )
    changed = {
        event.target_id: event.changes["ttl"]["after"] for event in old.order_by("id")
    }
    now = dict(Record.objects.values_list("pk", "ttl"))
    pk = next(pk for pk, ttl in changed.items() if ttl != now[pk])
    event = old.filter(target_id=pk).order_by("-id")[0]

    def refuse() -> None:
        try:
            Reversal([event]).carry_out(by)
        except Irreversible:
            return
        raise AssertionError("it was taken back")

    return refuse


def _bring_back(workspace: Workspace, report: Report, gone: list[int]) -> None:
    """Plan and carry out the return of groups that were deleted before all else."""
    client = Connection(workspace.server().port)
    token, ids = workspace.token(), iter(gone)
    peers = list(Peer.objects.values_list("pk", flat=True)[:OF_GONE])
    body = orjson.dumps({"name": "such a group", "peers": peers})

    def post(path: str, body: bytes = b"") -> None:
        status, answer = client.exchange(request("POST", path, token, body))
        assert status == 200, answer[:300]

    def plan_return() -> None:
        post(f"/api/events/audit/{gone[0]}/revert?dry_run=true")

    def plan_group() -> None:
        post("/api/groups?dry_run=true", body)

    def revert() -> None:
        post(f"/api/events/audit/{next(ids)}/revert")

    made, planned = alternating_medians(plan_group, plan_return, times=3)
    done = median_seconds(revert, times=GONE - 1)  # and one before
    client.close()
    name = f"the return of a group of {OF_GONE} deleted before a year's events"
    report.at_most(
        f"a plan for {name}, against one for such a group", planned, made, 1.5
    )
    report.at_most(f"{name}, against 0.5 s", done, 0.5, 1)
