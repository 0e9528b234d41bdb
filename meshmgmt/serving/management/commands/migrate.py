"""Django's migrations, which let everybody else go on while they wait for a lock."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    ProgrammingError,
    connection,
)
from django.db.migrations.recorder import MigrationRecorder

from meshmgmt.core.locks import Locked, locked
from meshmgmt.core.migrating import Executor
from meshmgmt.core.queries import execute, fetched

migrate.MigrationExecutor = Executor  # type: ignore[attr-defined]  # no other way

# Any fixed number that nothing else in the database locks.
LOCK_KEY: Final = 0x6D696772
PATIENCE_SECONDS: Final = 60.0
_NOT_AVAILABLE: Final = "55P03"
_NOT_ALLOWED: Final = "42501"
_OWN: Final = "let the role of SVC_DATABASE_URL own the database and what is in it"
_FITNESS: Final = """
    SELECT current_setting('server_encoding'),
           current_schema(), has_schema_privilege(current_schema(), 'CREATE')
"""
_OTHERS: Final = """
    SELECT pid, coalesce(nullif(application_name, ''), usename),
           extract(epoch FROM now() - xact_start)::int
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND xact_start < now() - interval '2 seconds'
    ORDER BY xact_start LIMIT 3
"""


class Command(migrate.Command):
    """Migrates as Django does, one process at a time.

    On PostgreSQL it tries again where others hold a table. Each migration is a
    transaction: those that are done stay done.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate.

        Raises CommandError when others, which it names, hold on for long, and for a
        database that cannot serve: of another encoding, or without the rights.
        """
        looks = options["check_unapplied"] or options["plan"]
        if looks or options["database"] != DEFAULT_DB_ALIAS:
            super().handle(*args, **options)
            return
        with self._alone():
            _refuse_unfit()
            until = time.monotonic() + PATIENCE_SECONDS
            while others := self._held_up(*args, **options):
                text = f"a table is in use by others: {others}"
                if time.monotonic() > until:
                    raise CommandError(f"{text}; run it again later")
                if options["verbosity"]:
                    self.stderr.write(f"\n{text}; trying again")
                time.sleep(1)

    def _held_up(self, *args: Any, **options: Any) -> str:
        """Migrate; return who held a table that was needed, "" when all is done."""
        try:
            super().handle(*args, **options)
        except (OperationalError, ProgrammingError) as error:
            state = getattr(error.__cause__, "sqlstate", "")
            if state == _NOT_ALLOWED:
                said = str(error).partition("\n")[0]
                raise CommandError(f"{said}; {_OWN}") from error
            if state != _NOT_AVAILABLE:
                raise
            found = [
                f"{who} (pid {pid}, for {s} s)" for pid, who, s in fetched(_OTHERS)
            ]
            return ", ".join(found) or "nobody by now"
        return ""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Run a block while no other process, of any host, migrates this database."""
        if connection.vendor != "postgresql":
            path = f"{connection.settings_dict['NAME']}-migrate"
            with ExitStack() as stack:
                try:
                    stack.enter_context(locked(path, wait=0))
                except Locked:
                    self._wait_told()
                    stack.enter_context(locked(path))
                yield
            return
        # Not `Leadership`: to it a database that is away is one whose lock is taken.
        # Asked over and over: who waits in a statement holds up indexes that are made
        # concurrently.
        if not _taken():
            self._wait_told()
            while not _taken():
                time.sleep(1)
        try:
            yield
        finally:
            execute("SELECT pg_advisory_unlock(%s)", [LOCK_KEY])

    def _wait_told(self) -> None:
        self.stderr.write("another process migrates this database: waiting for it")


def _refuse_unfit() -> None:
    """Raise CommandError where a new database cannot hold every name, or no tables."""
    # What an earlier version has filled goes on as it did.
    if (
        connection.vendor == "postgresql"
        and not MigrationRecorder(connection).has_table()
    ):
        [[encoding, schema, allowed]] = fetched(_FITNESS)
        if encoding != "UTF8":
            raise CommandError(
                f"the database has the encoding {encoding}: make one with ENCODING 'UTF8'"
                " TEMPLATE template0"
            )
        if schema is None:
            raise CommandError("the database has no schema that its search_path names")
        if not allowed:
            raise CommandError(f"no table may be made; {_OWN}")


def _taken() -> bool:
    return bool(fetched("SELECT pg_try_advisory_lock(%s)", [LOCK_KEY])[0][0])
