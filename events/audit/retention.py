"""Drops audit events past their retention, and tells the trail which.

Their hashes stay in the tree (`events/proof`), so who checks it must be able to tell what
retention removed from what somebody else did.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from heapq import merge
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

    The first range begins where the trail did. What was removed from behind the first
    event that is kept, for times out of the order of the commits, is told again by each
    removal that takes the event which told it.
    """
    going = AuditEvent.objects.filter(timestamp__lt=limit)
    kept = AuditEvent.objects.filter(timestamp__gte=limit)
    end = kept.aggregate(first=Min("id"))["first"] or last_id() + 1
    before = [(FIRST_ID, end - 1)] if end > FIRST_ID else []
    told = going.filter(activity_code=Activity.AUDIT_PRUNE)
    again = sorted(span for event in told for span in _spans(event.meta["ids"]))
    behind = going.filter(id__gt=end).order_by("id").values_list("id", "id")
    return ", ".join(
        f"{first}-{last}" if last > first else str(first)
        for first, last in _merged(merge(before, again, behind))
    )


def _spans(ids: str) -> Iterator[tuple[int, int]]:
    """Yield first and last id of each range of such a text."""
    for part in ids.split(", "):
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans, which come in order, with those that touch made one."""
    found: list[tuple[int, int]] = []
    for first, last in spans:
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found
