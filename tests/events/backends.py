"""A second session with PostgreSQL, in which tests lock tables and end other sessions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from django.db import connection

from meshmgmt.core.queries import execute
from tests.waiting import until

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

    def waiting() -> Any:
        session.execute("SELECT pg_stat_clear_snapshot()")  # else one per transaction
        return session.execute(_WAITING, [pattern]).fetchone()

    return int(until(waiting, f"somebody who waits in {pattern}", 20.0)[0])


@contextmanager
def failing(deed: str, table: str, said: str, code: str = "P0001") -> Iterator[None]:
    """Let statements such as INSERT into a table fail with these words, for a block."""
    execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" RAISE EXCEPTION '{said}' USING ERRCODE = '{code}'; END $$"
    )
    execute(f"CREATE TRIGGER fail BEFORE {deed} ON {table} EXECUTE FUNCTION fail()")
    try:
        yield
    finally:
        execute("DROP FUNCTION fail CASCADE")
