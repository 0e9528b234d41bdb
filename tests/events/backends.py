"""A second session with PostgreSQL, in which tests lock tables and end other sessions."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from django.db import connection

DEADLINE_SECONDS: Final = 20.0
POLL_SECONDS: Final = 0.01

_WAITING: Final = """
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND wait_event_type = 'Lock' AND query LIKE %s
"""


@contextmanager
def second_session() -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection of its own to the database under test."""
    parameters: dict[str, Any] = connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(name, None)
    with psycopg.connect(**parameters) as session:
        yield session


def waiting_pid(session: psycopg.Connection[Any], pattern: str) -> int:
    """Return the process that waits for a lock in a statement LIKE `pattern`."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        session.execute("SELECT pg_stat_clear_snapshot()")  # else one per transaction
        row = session.execute(_WAITING, [pattern]).fetchone()
        if row is not None:
            return int(row[0])
        assert time.monotonic() < deadline, f"nobody waits in {pattern}"
        time.sleep(POLL_SECONDS)
