"""Drops audit events past their retention, and tells the trail which.

Their hashes stay in the tree (`events/proof`), so who checks it must be able to tell what
retention removed from what somebody else did.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from time import sleep
from typing import Final

from django.conf import settings
from django.db.models import Min

from events.activities import Activity
from events.audit.emission import audit_record
from events.audit.reading import Trail, last_id
from events.models import AuditEvent
from events.pruning import BREATH_SECONDS, CHUNK, Pruned
from meshmgmt.core import clock
from meshmgmt.core.transactions import queued_write

FIRST_ID: Final = 1


def prune(*, dry_run: bool = False) -> list[Pruned]:
    """Drop what is too old, if the trail has a retention; with `dry_run` only count it."""
    days = settings.SVC.audit_retention_days
    if days is None:
        return []
    before = (clock.now() - timedelta(days=days)).date()
    limit = datetime.combine(before, time(), UTC)
    old = AuditEvent.objects.filter(timestamp__lt=limit)
    count = old.count()
    if count and not dry_run:
        # Told first: what is interrupted goes on, and tells it again.
        audit_record(
            Activity.AUDIT_PRUNE,
            target_id="audit",
            meta={"before": before.isoformat(), "events": count, "ids": _ids(limit)},
        )
        count = _delete(old, limit)
    return [Pruned("audit", count, before)]


def _delete(old: Trail, limit: datetime) -> int:
    total = 0
    while ids := list(old.order_by("id").values_list("id", flat=True)[:CHUNK]):
        # By time, not by the ids just read: they may lie behind younger ones. A chunk for
        # each transaction, so that on SQLite writers come in between.
        with queued_write():
            total += AuditEvent.objects.filter(
                id__lte=ids[-1], timestamp__lt=limit
            ).prune()
        sleep(BREATH_SECONDS)
    return total


def _ids(limit: datetime) -> str:
    """Return the ids of events before `limit` as `1-500, 512`.

    The first range begins where the trail did, so the newest such event tells of all that
    was removed before the first event that is kept; those behind it have times out of the
    order of their commits, and are told once.
    """
    kept = AuditEvent.objects.filter(timestamp__gte=limit)
    end = kept.aggregate(first=Min("id"))["first"] or last_id() + 1
    behind = AuditEvent.objects.filter(id__gt=end, timestamp__lt=limit)
    ranges = list(_ranges(behind.order_by("id").values_list("id", flat=True)))
    if end > FIRST_ID:
        ranges.insert(0, (FIRST_ID, end - 1))
    return ", ".join(
        f"{first}-{last}" if last > first else str(first) for first, last in ranges
    )


def _ranges(ids: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Yield first and last of each run of ids without a gap."""
    for _, run in groupby(enumerate(ids), lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        yield numbers[0], numbers[-1]
