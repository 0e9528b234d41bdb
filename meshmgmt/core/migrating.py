"""Migrations as wholes: what one does and that it was done, in one transaction."""

from typing import Any, Final

from django.db import transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration

LOCK_TIMEOUT: Final = "1s"
"""Whoever comes after a statement that waits for a table waits as long. Not for what is
not atomic: indexes that are made concurrently keep nobody waiting, and wait for all."""


class Executor(MigrationExecutor):
    """Leaves nothing of a migration that is killed.

    Django records one with indexes or constraints in a second transaction: killed between
    them, it could never be run again.
    """

    def apply_migration(
        self, state: Any, migration: Migration, *args: Any, **kwargs: Any
    ) -> Any:
        """Run a migration; one that is not atomic as Django does."""
        if not migration.atomic:
            return super().apply_migration(state, migration, *args, **kwargs)
        # SQLite's schema editor wants the checks off, which no transaction changes.
        checks = self.connection.constraint_checks_disabled()
        with checks, transaction.atomic(using=self.connection.alias):
            if self.connection.vendor == "postgresql":
                with self.connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            return super().apply_migration(state, migration, *args, **kwargs)
