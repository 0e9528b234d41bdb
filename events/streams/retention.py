"""Drops what is older than each stream's retention, by whole days."""

from collections import Counter
from datetime import date, timedelta
from time import sleep
from types import SimpleNamespace
from typing import Any, Final

import orjson
from django.db.models import F

from events.pruning import BREATH_SECONDS, CHUNK, Pruned
from events.streams import pages, partitions, rollups
from events.streams.catalogue import STREAMS, Stream
from meshmgmt.core import clock
from meshmgmt.core.queries import execute, fetched
from meshmgmt.core.transactions import queued_write

# Ingest takes events right up to the retention, so a day goes only when that is past.
MARGIN: Final = timedelta(hours=1)


def prune(*, dry_run: bool = False) -> list[Pruned]:
    """Drop what is too old in every stream; with `dry_run` only count it."""
    found = []
    for stream in STREAMS.values():
        if stream.retention is None:
            continue
        before = (clock.now() - stream.retention - MARGIN).date()
        tallies = stream.tally_model._default_manager.filter(day__lt=before)
        found.append(Pruned(stream.name, pages.tallied(tallies), before))
        if not dry_run:
            drop_days(stream, before)
    return found


def drop_days(stream: Stream, before: date) -> None:
    if not partitions.supported():
        _delete_rows(stream, before)
        return
    attached = partitions.attached(stream)
    loose = {day for day, pending in attached.items() if pending}
    loose |= {*partitions.detached(stream)}
    # What an earlier run, told to keep less, left half dropped is kept by this one.
    partitions.ensure(stream, {day for day in loose if day >= before})
    days = {*attached, *loose, *_tallied_days(stream)}
    # A half detached partition lets no other be detached: it comes first.
    first = sorted(day for day in loose if day < before)
    rest = sorted(day for day in days - loose if day < before)
    partitions.drop(stream, [*first, *rest])


def _tallied_days(stream: Stream) -> set[date]:
    return {*stream.tally_model._default_manager.values_list("day", flat=True)}


def _delete_rows(stream: Stream, before: date) -> None:
    """Delete in pieces: each takes SQLite's one write lock only for a moment.

    The tallies shrink with each piece, so they are right whenever this is interrupted.
    """
    tallies = stream.tally_model._default_manager
    gone = CHUNK
    while gone == CHUNK:
        with queued_write():
            deleted = _delete_oldest(stream, before)
            rollups.leave_gap(stream, {day for day, _ in deleted})
            gone = 0
            for (day, key), number in deleted.items():
                fields = dict(zip(stream.tally_fields, key, strict=True))
                tallies.filter(day=day, **fields).update(rows=F("rows") - number)
                gone += number
        sleep(BREATH_SECONDS)
    for day in sorted(_tallied_days(stream)):
        if day < before:
            # One at a time: a day has thousands of sums.
            with queued_write():
                rollups.forget(stream, day)
                tallies.filter(day=day).delete()
            sleep(BREATH_SECONDS)


def _delete_oldest(stream: Stream, before: date) -> Counter[tuple[date, Any]]:
    """Delete at most `CHUNK` rows; return how many stood for each key of the tallies."""
    columns = ", ".join(["n", stream.time_field, *stream.tally_fields])
    rows = fetched(
        f"SELECT {columns} FROM {stream.table}"  # noqa: S608 - names from the catalogue
        f" WHERE {stream.time_field} < %s ORDER BY {stream.time_field} LIMIT %s",
        [str(before), CHUNK],
    )
    execute(
        f"DELETE FROM {stream.table} WHERE n IN (SELECT value FROM json_each(%s))",  # noqa: S608 - as above
        [orjson.dumps([number for number, *_ in rows]).decode()],
    )
    return Counter(
        (
            moment.date(),
            stream.tally(
                SimpleNamespace(**dict(zip(stream.tally_fields, values, strict=True)))
            ),
        )
        for _, moment, *values in rows
    )
