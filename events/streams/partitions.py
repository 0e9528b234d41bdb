"""Day partitions on PostgreSQL: made before they are needed, detached and dropped.

A partition is made apart and then attached, and detached CONCURRENTLY before it is
dropped: CREATE ... PARTITION OF and a plain DROP would take a lock that stops every
insert into the stream. Citus knows no CONCURRENTLY, so a stream that it spreads has its
days detached under that lock, in moments of less than a second but for the last.

Whoever attaches or drops a day holds the lock of that day meanwhile. So a detached table
is either dropped together with the tallies of its rows or attached again with all of
them: whatever is interrupted, the tallies never lose or keep a row that the day does not.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import partial
from time import sleep
from typing import Final

from django.db import (
    DatabaseError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)

from events.streams import citus, rollups
from events.streams.catalogue import STREAMS, Stream
from events.streams.statements import lock_timeout
from meshmgmt.core import clock
from meshmgmt.core.queries import execute, fetched

log = logging.getLogger(__name__)

LOCK_KEY: Final = 0x65767061
LOCK_TIMEOUT: Final = "500ms"
ATTEMPTS: Final = 20
BREATH_SECONDS: Final = 0.1
PLAIN_LOCK_TIMEOUT: Final = "200ms"
PLAIN_TIMEOUT: Final = "800ms"
"""Who waits for a plain DETACH, or carries it out, holds ingest up: so long at most.

It waits for several locks, with Citus for some on each worker, one after the other.
"""

LAST_TIMEOUT: Final = "10s"
"""After all attempts, for workers that need long to cut a day off."""

PLAIN_BREATH_SECONDS: Final = 1.0
"""Between those attempts; all batches that waited get through meanwhile."""

DAYS_AHEAD: Final = 2

_CHECK_VIOLATION: Final = "23514"
_NO_PARTITION: Final = "no partition of relation"

_NAME: Final = re.compile(r".*_p(\d{8})")


def supported() -> bool:
    """Tell whether the database has partitions; SQLite keeps one table."""
    return connection.vendor == "postgresql"


def partition_name(stream: Stream, day: date) -> str:
    return f"{stream.table}_p{day:%Y%m%d}"


def day_of(name: str) -> date | None:
    """Return the day a partition's name stands for, None for other tables."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=UTC).date()


def attached(stream: Stream) -> dict[date, bool]:
    """Return the days that have a partition; True for those half detached."""
    rows = fetched(
        "SELECT child.relname, inhdetachpending FROM pg_inherits"
        " JOIN pg_class child ON child.oid = inhrelid"
        " WHERE inhparent = %s::regclass",
        [stream.table],
    )
    return {day: pending for name, pending in rows if (day := day_of(name))}


def detached(stream: Stream) -> list[date]:
    """Return the days whose table was detached but never dropped."""
    names = fetched(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition"
        " AND starts_with(relname, %s)"
        " AND relnamespace = (SELECT relnamespace FROM pg_class"
        " WHERE oid = %s::regclass)",
        [f"{stream.table}_p", stream.table],
    )
    return sorted(day for (name,) in names if (day := day_of(name)))


def is_missing(error: DatabaseError) -> bool:
    """Tell whether a row was refused because no partition takes its day."""
    if getattr(error.__cause__, "sqlstate", None) == _CHECK_VIOLATION:
        return True
    # Citus: what a worker says to a COPY arrives with its words, but as XX000.
    return isinstance(error, InternalError) and _NO_PARTITION in str(error)


def ensure(stream: Stream, days: Iterable[date]) -> None:
    """Make the partitions of `days` that are missing, each in its own transaction.

    A day that was detached and not dropped comes back with its rows.
    """
    if not supported():
        return
    wanted = set(days)
    if wanted <= {day for day, pending in attached(stream).items() if not pending}:
        return
    for day in sorted(wanted):
        with transaction.atomic():
            execute("SELECT pg_advisory_xact_lock(%s, %s)", _day_key(day))
            pending = attached(stream).get(day)
            if pending:
                execute(_detachment(stream, day, "FINALIZE"))
            if pending is not False:
                _make(stream, day)
                if stream.tally_model._default_manager.filter(day=day).exists():
                    # It comes back with events that nobody saw meanwhile.
                    rollups.leave_gap(stream, {day})


def bring_back(stream: Stream) -> None:
    """Attach the days again that an interrupted run left half dropped."""
    halves = {day for day, pending in attached(stream).items() if pending}
    ensure(stream, halves | {*detached(stream)})


def make_ahead() -> None:
    """Make today's partitions and the next days', before any event needs them."""
    today = clock.now().date()
    for stream in STREAMS.values():
        ensure(stream, [today + timedelta(days=n) for n in range(DAYS_AHEAD + 1)])


def _make(stream: Stream, day: date) -> None:
    """Create and attach; only the attaching locks the parent, and lets inserts pass."""
    name = partition_name(stream, day)
    execute(f"CREATE TABLE IF NOT EXISTS {name} (LIKE {stream.table} INCLUDING ALL)")
    # Index-only scans, which totals rely on, need a recent VACUUM.
    execute(
        f"ALTER TABLE {name} SET (autovacuum_vacuum_insert_scale_factor = 0.05,"
        " autovacuum_analyze_scale_factor = 0.05)"
    )
    execute(
        f"ALTER TABLE {stream.table} ATTACH PARTITION {name}"
        f" FOR VALUES FROM ('{day} 00:00+00')"
        f" TO ('{day + timedelta(days=1)} 00:00+00')"
    )
    log.info("made partition %s", name)


def drop(stream: Stream, days: Collection[date]) -> None:
    """Drop the partitions of `days` and their tallies; no insert waits long for it.

    Must run outside of a transaction (DETACH ... CONCURRENTLY). Finishes what an
    interrupted run left half done.
    """
    detach, breath = _detach, BREATH_SECONDS
    if citus.is_spread(stream):
        detach, breath = _detach_plainly, PLAIN_BREATH_SECONDS
    for day in days:
        with _day_locked(day), lock_timeout(LOCK_TIMEOUT):
            try:
                _retry(partial(detach, stream, day), breath)
            except OperationalError:
                if detach is not _detach_plainly:
                    raise
                _detach_plainly(stream, day, LAST_TIMEOUT)
            _retry(partial(_drop_detached, stream, day), breath)
        log.info("dropped partition %s", partition_name(stream, day))


def _detach(stream: Stream, day: date) -> None:
    pending = attached(stream).get(day)
    if pending is not None:
        execute(_detachment(stream, day, "FINALIZE" if pending else "CONCURRENTLY"))


def _detach_plainly(stream: Stream, day: date, limit: str = PLAIN_TIMEOUT) -> None:
    """Detach under an exclusive lock, or raise OperationalError soon."""
    if day not in attached(stream):
        return
    with transaction.atomic():
        # Citus: workers are told of the timeout only so. One may hold the lock longer than
        # the coordinator, for a transaction of which it has yet to learn the end.
        execute("SET LOCAL citus.propagate_set_commands = 'local'")
        execute(f"SET LOCAL lock_timeout = '{PLAIN_LOCK_TIMEOUT}'")
        execute(f"SET LOCAL statement_timeout = '{limit}'")
        execute(_detachment(stream, day, ""))


def _detachment(stream: Stream, day: date, how: str) -> str:
    name = partition_name(stream, day)
    return f"ALTER TABLE {stream.table} DETACH PARTITION {name} {how}"


def _drop_detached(stream: Stream, day: date) -> None:
    """Rows, tallies and sums go in one transaction; no batch can count into the day now."""
    with transaction.atomic():
        execute(f"DROP TABLE IF EXISTS {partition_name(stream, day)}")
        stream.tally_model._default_manager.filter(day=day).delete()
        rollups.forget(stream, day)


def _day_key(day: date) -> list[int]:
    return [LOCK_KEY, day.toordinal()]


@contextmanager
def _day_locked(day: date) -> Iterator[None]:
    """Keep others from attaching or dropping the day; ends with the session at last."""
    execute("SELECT pg_advisory_lock(%s, %s)", _day_key(day))
    try:
        yield
    finally:
        execute("SELECT pg_advisory_unlock(%s, %s)", _day_key(day))


def _retry(step: Callable[[], None], breath: float) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            step()
        except OperationalError:
            if attempt == ATTEMPTS:
                raise
            log.info("a partition is in use; trying again")
            sleep(breath)
        else:
            return
