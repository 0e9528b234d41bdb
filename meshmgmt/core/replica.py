"""Long reads from a replica of the database, which never show less than the primary."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

log = logging.getLogger(__name__)

REPLICA: Final = "replica"
PATIENCE: Final = 0.2
"""Seconds that a request waits for the replica to come up with what was committed."""
PAUSE: Final = 0.01
REST: Final = 10.0
"""Seconds in which a replica that failed, or was behind, is not asked again."""

_rest_until = 0.0


@contextmanager
def reading_replica() -> Iterator[None]:
    """Run a block of reads on the replica; on the primary, if there is none to rely on.

    The replica has everything by then that was committed when the block began, so whoever
    reads sees what they wrote, wherever they wrote it.
    """
    primary = connections[DEFAULT_DB_ALIAS]
    if primary.alias == REPLICA or primary.in_atomic_block or not _has_caught_up():
        yield
        return
    # Put in its place for this thread: everything that reads asks for the default.
    connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary


def read_through(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield parts of an answer that reads on while it is sent."""
    with reading_replica():
        yield from parts


def _has_caught_up() -> bool:
    global _rest_until  # noqa: PLW0603 - one replica for the process
    if REPLICA not in connections.settings or time.monotonic() < _rest_until:
        return False
    try:
        if _waited_for(_one(DEFAULT_DB_ALIAS, "SELECT pg_current_wal_flush_lsn()")):
            return True
        log.warning("the replica is behind: the primary is read")
    except (DatabaseError, InterfaceError) as error:
        log.warning("the replica cannot be asked: %s", error)
    _rest_until = time.monotonic() + REST
    return False


def _waited_for(position: Any) -> bool:
    """Tell whether the replica reached a position of the log in time."""
    deadline = time.monotonic() + PATIENCE
    # None: this is no replica, or none any more.
    while not _one(REPLICA, "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", position):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def _one(alias: str, sql: str, *values: Any) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]
