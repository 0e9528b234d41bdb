"""Writes of large groups with their audit trail against bare inserts of the same rows.

`POST /api/groups` with all 5,000 peers over HTTP, and a change of 10,000 memberships (all
peers leave and as many resources come, each with its event) by how long it holds the
write lock that everybody else waits for.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection, transaction

from benchmarks.load import Connection, request
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from events.models import AuditEvent
from groups.models import GroupPeer
from groups.services import group_create, group_delete, group_update
from meshmgmt.core.transactions import lock_held, queued_write
from meshmgmt.inventory.models import Peer

LIMIT: Final = 2.0
LOCK_SECONDS: Final = 2.0
LOCK_TIMES: Final = 3
TIMES: Final = 5

Table = tuple[str, list[str], list[tuple[Any, ...]]]


def run(workspace: Workspace, report: Report) -> None:
    """Compare the request with its rows, and the lock with what is bearable."""
    peers = list(Peer.objects.order_by("pk").values_list("pk", flat=True))
    _compare_request(workspace, report, peers)
    _hold_the_lock(report, peers)


def _compare_request(workspace: Workspace, report: Report, peers: list[str]) -> None:
    http = Connection(workspace.server().port)
    made: list[str] = []

    def post() -> None:
        body = {"name": f"bench {time.time_ns()}", "peers": peers}
        status, answer = http.exchange(
            request("POST", "/api/groups", workspace.token(), json.dumps(body).encode())
        )
        assert status == 200, answer[:300]
        made.append(json.loads(answer)["id"])

    post()
    measured, reference = alternating_medians(post, _bare(made[0]), times=TIMES)
    name = f"POST /api/groups with {len(peers)} peers, against inserts of its rows"
    report.at_most(name, measured, reference, LIMIT)
    http.close()
    for group_id in made:
        group_delete(group_id=group_id)


def _bare(group_id: str) -> Callable[[], None]:
    """Return inserts of what a new group stored, one statement a row, undone after it."""
    links = GroupPeer.objects.filter(group=group_id).order_by("id")
    newest = AuditEvent.objects.order_by("-id")[: links.count() + 1]
    tables = [_table(links), _table(newest)]

    def insert() -> None:
        with queued_write(), connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM groups_grouppeer WHERE group_id = %s", [group_id]
            )
            for table, names, rows in tables:
                marks = ", ".join(["%s"] * len(names))
                cursor.executemany(
                    f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608 - our names
                    rows,
                )
            transaction.set_rollback(True)

    return insert


def _table(rows: Any) -> Table:
    """Return a table, its columns but the key, and rows as the database takes them."""
    columns = [
        field for field in rows.model._meta.concrete_fields if not field.primary_key
    ]
    return (
        rows.model._meta.db_table,
        [str(field.column) for field in columns],
        [
            tuple(
                field.get_db_prep_save(getattr(row, field.attname), connection)
                for field in columns
            )
            for row in rows
        ],
    )


def _hold_the_lock(report: Report, peers: list[str]) -> None:
    resources = [(f"bench-{number}", "host") for number in range(len(peers))]
    held: list[float] = []
    for _ in range(LOCK_TIMES):
        group = group_create(name=f"bench {time.time_ns()}", peers=peers)
        with _holding() as seconds:
            group_update(
                group_id=group.pk, name=group.name, peers=[], resources=resources
            )
        held.append(sum(seconds))
        group_delete(group_id=group.pk)
    name = f"write lock held by a change of {2 * len(peers)} memberships"
    # The least: others at work on the machine only ever add to it.
    report.at_most(name, min(held), LOCK_SECONDS, 1)


@contextmanager
def _holding() -> Iterator[list[float]]:
    """Collect how long the write lock is held in a block."""
    found: list[float] = []

    def note(seconds: float, **kwargs: Any) -> None:
        found.append(seconds)

    lock_held.connect(note)
    try:
        yield found
    finally:
        lock_held.disconnect(note)
