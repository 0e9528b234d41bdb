"""Migrations as wholes: what one does and that it was done, in one transaction."""

from typing import Any

from django.db import transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.migration import Migration


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
            return super().apply_migration(state, migration, *args, **kwargs)
