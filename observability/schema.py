"""Which migrations the database lacks, cheaply enough to ask at every scrape."""

from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Key = tuple[str, str]


@cache
def _on_disk() -> tuple[frozenset[Key], dict[Key, frozenset[Key]]]:
    """Return all migrations of the code, and what each squashed one replaces."""
    disk = MigrationLoader(None).disk_migrations
    replaces = {key: frozenset(m.replaces) for key, m in disk.items() if m.replaces}
    return frozenset(disk), replaces


def unapplied() -> list[str]:
    """Return the missing migrations as `app.name`, sorted. Raises DatabaseError."""
    known, replaces = _on_disk()
    applied = set(MigrationRecorder(connection).applied_migrations())
    done = {
        *applied,
        *(key for key, parts in replaces.items() if parts <= applied),
        # What a squashed migration replaces is done with it.
        *(part for key, parts in replaces.items() if key in applied for part in parts),
    }
    return sorted(f"{app}.{name}" for app, name in known - done)


def applied() -> list[str]:
    """Return the applied migrations as `app.name`, sorted. Raises DatabaseError."""
    done = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in done)
