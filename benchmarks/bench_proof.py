"""The tree of the audit trail: what a write costs with it, how long others wait for it.

References are the same writes without the tree, and five milliseconds for each time that
adding to the tree of many events takes the database's write lock: of its own time, for
how long a disk takes to flush is as long for every other write.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import connection

from benchmarks.report import Report, alternating_medians, median_seconds
from benchmarks.workspace import Workspace
from events.models import AuditEvent
from events.proof import heads, tree
from groups.services import group_create, group_delete
from meshmgmt.core.transactions import lock_held, queued_write

EVENTS: Final = 250_000
WRITES: Final = 200
WRITE_LIMIT: Final = 1.15
HELD_SECONDS: Final = 0.005
HELD_GUARD: Final = 1.5

Hold = tuple[float, float]
"""Seconds by the clock, and of its own time."""

_COLUMNS: Final = (
    "timestamp, activity_code, initiator_id, initiator_name, initiator_email, target_id,"
    " target_type, meta, changes, request_id, source_address, token_id, search"
)
_ROW: Final = (
    "{moment}, 'group.add', 'user', 'Ann', 'ann@mesh.internal', 'group', 'group',"
    ' CAST(\'{{"name": "group", "peers": "3"}}\' AS {json}),'
    ' CAST(\'{{"name": {{"before": null, "after": "group"}}}}\' AS {json}),'
    " 'request', '192.0.2.1', 'token', 'group'"
)
_STATEMENT: Final = (
    f"INSERT INTO events_auditevent ({_COLUMNS}) WITH RECURSIVE numbers(n) AS"  # noqa: S608 - stands above
    f" (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {EVENTS})"
    f" SELECT {_ROW} FROM numbers"
)
_KINDS: Final = {
    "sqlite": {"moment": "'2026-03-01 12:00:00'", "json": "text"},
    "postgresql": {
        "moment": "CAST('2026-03-01 12:00:00+00' AS timestamptz)",
        "json": "jsonb",
    },
}


def run(workspace: Workspace, report: Report) -> None:
    """Compare writes first, while the trail is short, then take a long one in."""
    heads.keep_up()
    _compare_writes(report)
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT.format_map(_KINDS[connection.vendor]))
    began = time.perf_counter()
    with _timed() as held:
        tree.grow(float("inf"))
    report.note(f"{EVENTS / (time.perf_counter() - began):.0f} events a second")
    report.note(f"an ordinary write holds the lock {_ordinary_hold() * 1000:.2f} ms")
    with _timed() as late:
        for _ in range(20):
            _write(1)
            tree.grow_once()
    _report_holds(report, held, late)
    _time_proofs(report)


def _report_holds(report: Report, held: list[Hold], late: list[Hold]) -> None:
    """Tell how long batches held what; PostgreSQL has a lock for the tree alone."""
    walls, own = zip(*held, strict=True)
    report.note(f"by the clock: {statistics.median(walls) * 1000:.2f} ms the median")
    shares = {
        "99 of 100 batches": statistics.quantiles(own, n=100)[98],
        f"the longest of {len(own)}": max(own),
        "one event more": max(seconds for _, seconds in late),
    }
    for name, seconds in shares.items():
        if connection.vendor == "sqlite":
            report.at_most(
                f"lock held by {name}", seconds, HELD_SECONDS, 1, guard=HELD_GUARD
            )
        else:
            report.note(f"{name}: {seconds * 1000:.2f} ms, nobody else waits")


def _compare_writes(report: Report) -> None:
    """Count all that the tree costs to the writes, though another process pays it."""

    def proven() -> None:
        _write(WRITES)
        heads.keep_up()

    alone, together = alternating_medians(lambda: _write(WRITES), proven)
    report.at_most(f"{WRITES} writes, proven", together, alone, WRITE_LIMIT)


def _write(count: int) -> None:
    for number in range(count // 2 or 1):
        group_delete(group_id=group_create(name=f"proof {number}").pk)


def _ordinary_hold() -> float:
    """Return the median time for which the write of a group holds the lock."""
    held: list[float] = []

    def note(seconds: float, **_: Any) -> None:
        held.append(seconds)

    lock_held.connect(note)
    _write(WRITES)
    lock_held.disconnect(note)
    return statistics.median(held)


@contextmanager
def _timed() -> Iterator[list[Hold]]:
    """Yield a list that gets how long each transaction of the tree takes."""
    held: list[Hold] = []

    @contextmanager
    def timed() -> Iterator[None]:
        began, own = time.perf_counter(), time.thread_time()
        with queued_write():
            yield
        held.append((time.perf_counter() - began, time.thread_time() - own))

    module: Any = tree
    module.queued_write = timed
    try:
        yield held
    finally:
        module.queued_write = queued_write


def _time_proofs(report: Report) -> None:
    size = tree.extent().size
    middle = AuditEvent.objects.order_by("id")[size // 2].pk

    def prove() -> None:
        index = tree.index_of(middle)
        assert index is not None
        tree.tree_at(size).inclusion(index)

    report.note(f"a proof among {size} events: {median_seconds(prove) * 1000:.1f} ms")
