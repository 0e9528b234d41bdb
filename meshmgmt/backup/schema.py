"""Which migrations a database has, and what its tables look like at them."""

from collections.abc import Mapping

from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from meshmgmt.backup.archive import BackupError

Heads = Mapping[str, str]
"""Name of the newest migration by the label of its app."""


def newest() -> dict[str, str]:
    """Return the heads of this version of the service."""
    # Without a connection: what this version has, not what the database has.
    return dict(sorted(MigrationLoader(None).graph.leaf_nodes()))


def is_new() -> bool:
    """Tell whether the database has no tables of ours."""
    return not MigrationLoader(connection).applied_migrations


def is_at(heads: Heads) -> bool:
    """Tell whether the database has the migrations up to these and no other."""
    loader = MigrationLoader(connection)
    wanted = {
        node for head in heads.items() for node in loader.graph.forwards_plan(head)
    }
    return wanted == set(loader.applied_migrations)


def migrate_to(heads: Heads) -> None:
    """Make the tables of a new database; what rooms add after a migration is not."""
    MigrationExecutor(connection).migrate(list(heads.items()))


def models_at(heads: Heads) -> Apps:
    """Return models that have the columns of these migrations.

    Raises BackupError for a migration that this version does not have.
    """
    loader = MigrationLoader(None)
    for app, name in heads.items():
        if (app, name) not in loader.graph.nodes:
            raise BackupError(
                f"the file is of a newer or another version: it has the migration"
                f" {app} {name}, which this one does not know"
            )
    return loader.project_state(list(heads.items())).apps
