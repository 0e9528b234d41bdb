"""Drops what is older than each stream's retention, by whole days."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from time import sleep
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from events.models import AuditEvent
from events.streams import partitions
from events.streams.catalogue import STREAMS, Stream
from meshmgmt.core import clock
from meshmgmt.core.transactions import queued_write

# Ingest takes events right up to the retention, so a day goes only when that is past.
MARGIN: Final = timedelta(hours=1)
CHUNK: Final = 500
"""Rows deleted at once: others wait for SQLite's write lock meanwhile."""

BREATH_SECONDS: Final = 0.01
"""Pause between two pieces, in which those who wait take the lock."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows of a stream are older than its retention, and from when on."""

    stream: str
    rows: int
    before: date


def prune(*, dry_run: bool = False) -> list[Pruned]:
    """Drop what is too old in every stream; with `dry_run` only count it."""
    done = [
        _prune_stream(stream, before, dry_run=dry_run)
        for stream in STREAMS.values()
        if (before := _first_kept_day(stream.retention))
    ]
    days = settings.SVC.audit_retention_days
    if days is not None:
        done.append(_prune_audit(timedelta(days=days), dry_run=dry_run))
    return done


def _first_kept_day(retention: timedelta | None) -> date | None:
    return None if retention is None else (clock.now() - retention - MARGIN).date()


def _prune_stream(stream: Stream, before: date, *, dry_run: bool) -> Pruned:
    tallies = stream.tally_model._default_manager.filter(day__lt=before)
    rows = tallies.aggregate(rows=Sum("rows"))["rows"] or 0
    if not dry_run:
        drop_days(stream, before)
    return Pruned(stream.name, rows, before)


def drop_days(stream: Stream, before: date) -> None:
    """Remove every event of the days before `before`."""
    if not partitions.supported():
        _delete_rows(stream, before)
        return
    days = {*partitions.attached(stream), *partitions.detached(stream)}
    for day in sorted(day for day in days if day < before):
        partitions.drop(stream, [day])
        stream.tally_model._default_manager.filter(day=day).delete()


def _delete_rows(stream: Stream, before: date) -> None:
    """Delete in pieces: each takes SQLite's one write lock only for a moment."""
    statement = (
        f"DELETE FROM {stream.table} WHERE n IN (SELECT n FROM {stream.table}"  # noqa: S608 - names from the catalogue
        f" WHERE {stream.time_field} < %s LIMIT {CHUNK})"
    )
    gone = CHUNK
    while gone == CHUNK:
        with queued_write(), connection.cursor() as cursor:
            cursor.execute(statement, [str(before)])
            gone = cursor.rowcount
            if gone < CHUNK:
                stream.tally_model._default_manager.filter(day__lt=before).delete()
        sleep(BREATH_SECONDS)


def _prune_audit(retention: timedelta, *, dry_run: bool) -> Pruned:
    before = (clock.now() - retention).date()
    limit = datetime.combine(before, time(), UTC)
    old = AuditEvent.objects.filter(timestamp__lt=limit)
    if dry_run:
        return Pruned("audit", old.count(), before)
    total = 0
    while ids := list(old.order_by("id").values_list("id", flat=True)[:CHUNK]):
        with queued_write():
            total += AuditEvent.objects.filter(
                id__lte=ids[-1], timestamp__lt=limit
            ).prune()
        sleep(BREATH_SECONDS)
    return Pruned("audit", total, before)
