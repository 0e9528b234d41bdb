"""Writes a batch of rows: all or nothing, each event once.

Identity is the pair (id, time). A batch takes the stream's ingest lock before it looks for
ids that are stored already, so two batches cannot both miss each other's.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import orjson
from django.db import IntegrityError, InternalError, connection

from events.streams import partitions
from events.streams.catalogue import Stream
from events.streams.faults import IdTaken
from meshmgmt.core.errors import Unavailable
from meshmgmt.core.queries import execute, fetched
from meshmgmt.core.transactions import queued_write

log = logging.getLogger(__name__)

ATTEMPTS: Final = 5
"""How often a batch is tried whose days retention drops under it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How many events of a batch were stored, were there already, or are not kept."""

    accepted: int
    duplicates: int
    ignored: int = 0


def store(stream: Stream, rows: Sequence[Any], *, untimed: frozenset[str]) -> Stored:
    """Store the rows whose ids are new. Raises IdTaken for a clashing one.

    `untimed` holds the ids of events whose reporter gave no time: an id that is stored
    already is the same event then, whenever it arrived. Raises Unavailable when a day of
    theirs is dropped again and again meanwhile.
    """
    days = {_time(stream, row).date() for row in rows}
    for _ in range(ATTEMPTS):
        partitions.ensure(stream, days)
        try:
            return _store(stream, rows, untimed)
        except (IntegrityError, InternalError) as error:
            if not partitions.is_missing(error):
                raise
            log.info("a day was dropped while a batch came in; trying again")
    raise Unavailable("the days of these events are being dropped now; try again")


def _store(stream: Stream, rows: Sequence[Any], untimed: frozenset[str]) -> Stored:
    with queued_write():
        _lock(stream)
        fresh = _unknown(stream, rows, untimed)
        if fresh:
            insert = _copy if connection.vendor == "postgresql" else _insert_many
            insert(stream, fresh)
            _count(stream, fresh)
    return Stored(accepted=len(fresh), duplicates=len(rows) - len(fresh))


def _time(stream: Stream, row: Any) -> datetime:
    moment: datetime = getattr(row, stream.time_field)
    return moment


def _lock(stream: Stream) -> None:
    """Let one batch at a time look and insert; SQLite's BEGIN IMMEDIATE does it."""
    if connection.vendor == "postgresql":
        execute("SELECT pg_advisory_xact_lock(%s)", [stream.lock_key])


def _unknown(stream: Stream, rows: Sequence[Any], untimed: frozenset[str]) -> list[Any]:
    # Asked before, for COPY knows no ON CONFLICT, and no unique index spans the days.
    stored = _stored_times(stream, [row.id for row in rows])
    if not stored:
        return list(rows)
    fresh = []
    for row in rows:
        if row.id not in stored:
            fresh.append(row)
        elif row.id not in untimed and stored[row.id] != _time(stream, row):
            raise IdTaken(row.id)
    return fresh


def _stored_times(stream: Stream, ids: list[str]) -> dict[str, datetime]:
    select = f"SELECT id, {stream.time_field} FROM {stream.table} WHERE id"  # noqa: S608 - names from the catalogue
    if connection.vendor == "postgresql":
        # Behind ARRAY() the planner does not look at each of the ids.
        among = f"{select} = ANY(ARRAY(SELECT unnest(%s::text[])))"
        return dict(fetched(among, [ids]))
    among = f"{select} IN (SELECT value FROM json_each(%s))"  # noqa: S608 - as above
    found = fetched(among, [orjson.dumps(ids).decode()])
    # Django's converter for SQLite returns the time without its zone.
    return {identifier: moment.replace(tzinfo=UTC) for identifier, moment in found}


def _copy(stream: Stream, rows: Sequence[Any]) -> None:
    columns = ", ".join(stream.columns)
    statement = f"COPY {stream.table} ({columns}) FROM STDIN (FORMAT binary)"
    # Django knows no COPY: psycopg's own cursor does it, and its errors are wrapped here.
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.cursor.copy(statement) as copy,
    ):
        copy.set_types(stream.pg_types)
        for row in rows:
            copy.write_row(row)


def _insert_many(stream: Stream, rows: Sequence[Any]) -> None:
    columns = ", ".join(("n", *stream.columns))
    places = ", ".join(["%s"] * (len(stream.columns) + 1))
    position = stream.columns.index(stream.time_field)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {stream.table} ({columns}) VALUES ({places})",  # noqa: S608 - names from the catalogue
            [
                (n, *row[:position], _sqlite_time(row[position]), *row[position + 1 :])
                for n, row in enumerate(rows, _next_arrival(stream))
            ],
        )


def _next_arrival(stream: Stream) -> int:
    """Return the next row's number: microseconds of now, or one more than the last.

    SQLite itself would give the numbers of deleted rows again.
    """
    [(last,)] = fetched(f"SELECT max(n) FROM {stream.table}")  # noqa: S608 - as above
    return max((last or 0) + 1, time.time_ns() // 1000)


def _sqlite_time(moment: datetime) -> str:
    # As Django writes them, in UTC: SQLite compares times as texts.
    return str(moment.replace(tzinfo=None))


def _count(stream: Stream, rows: Sequence[Any]) -> None:
    """Add the rows to the tallies; in key order, so that writers cannot deadlock."""
    counts: Counter[tuple[date, Any]] = Counter(
        (_time(stream, row).date(), stream.tally(row)) for row in rows
    )
    table = stream.tally_model._meta.db_table
    names = ", ".join(("day", *stream.tally_fields))
    places = ", ".join(["%s"] * (len(stream.tally_fields) + 2))
    with connection.cursor() as cursor:
        cursor.executemany(
            f'INSERT INTO {table} ({names}, "rows") VALUES ({places})'  # noqa: S608 - names from the catalogue
            f' ON CONFLICT ({names}) DO UPDATE SET "rows" ='
            f' {table}."rows" + excluded."rows"',
            [(day, *key, number) for (day, key), number in sorted(counts.items())],
        )
