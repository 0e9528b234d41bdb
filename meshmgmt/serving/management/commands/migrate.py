"""Django's migrations, which let everybody else go on while they wait for a lock."""

import time
from typing import Any, Final

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection

from events.streams.statements import fetched, lock_timeout
from meshmgmt.core.migrating import Executor

migrate.MigrationExecutor = Executor  # type: ignore[attr-defined]  # no other way

LOCK_TIMEOUT: Final = "1s"
"""Whoever comes after a statement that waits for a table waits as long."""
PATIENCE_SECONDS: Final = 60.0
_NOT_AVAILABLE: Final = "55P03"
_OTHERS: Final = """
    SELECT pid, coalesce(nullif(application_name, ''), usename),
           extract(epoch FROM now() - xact_start)::int
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND xact_start < now() - interval '2 seconds'
    ORDER BY xact_start LIMIT 3
"""


class Command(migrate.Command):
    """Migrates as Django does; on PostgreSQL, tries again where others hold a table.

    Each migration is a transaction: those that are done stay done.
    """

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate. Raises CommandError, which names them, when others hold on for long."""
        own = options["database"] == DEFAULT_DB_ALIAS
        if not own or connection.vendor != "postgresql":
            super().handle(*args, **options)
            return
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with lock_timeout(LOCK_TIMEOUT):
                    super().handle(*args, **options)
                return
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", "") != _NOT_AVAILABLE:
                    raise
                others = ", ".join(
                    f"{who} (pid {pid}, for {since} s)"
                    for pid, who, since in fetched(_OTHERS)
                )
                text = f"a table is in use by others: {others or 'nobody by now'}"
                if time.monotonic() > until:
                    raise CommandError(
                        f"{text}; nothing of this migration was done: run it again later"
                    ) from error
            if options["verbosity"]:
                self.stderr.write(f"\n{text}; trying again")
            time.sleep(1)
