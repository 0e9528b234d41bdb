"""What the database says about itself, and which migrations it lacks."""

import os
from functools import cache
from typing import Any

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from meshmgmt.core.queries import fetched

Row = dict[str, Any]
_Migration = tuple[str, str]

_POSTGRESQL_TABLES = """
    SELECT relname AS table, n_live_tup AS rows, n_dead_tup AS dead_rows,
           pg_total_relation_size(relid) AS bytes, seq_scan, idx_scan,
           last_autovacuum, last_autoanalyze
      FROM pg_stat_user_tables ORDER BY pg_total_relation_size(relid) DESC LIMIT 100
"""
_POSTGRESQL_SESSIONS = """
    SELECT coalesce(state, backend_type) AS state, wait_event_type, count(*) AS sessions,
           max(extract(epoch FROM now() - xact_start))::int AS oldest_transaction_seconds
      FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1, 2 ORDER BY 3 DESC
"""
_POSTGRESQL_DATABASE = """
    SELECT numbackends, xact_commit, xact_rollback, blks_read, blks_hit, deadlocks,
           temp_bytes, conflicts, stats_reset
      FROM pg_stat_database WHERE datname = current_database()
"""
# `wr`: made WITHOUT ROWID.
_SQLITE_TABLES = """
    SELECT name, wr FROM pragma_table_list
     WHERE schema = 'main' AND type = 'table' ORDER BY name
"""


def overview() -> Row:
    """Return vendor, version and size in bytes. Raises DatabaseError."""
    if connection.vendor == "postgresql":
        [row] = _rows(
            "SELECT current_setting('server_version') AS version,"
            " pg_database_size(current_database()) AS bytes"
        )
        return {"vendor": "postgresql", **row}
    [row] = _rows("SELECT sqlite_version() AS version")
    return {"vendor": "sqlite", **row, "bytes": _sqlite_bytes()}


def _sqlite_bytes() -> int:
    name = str(connection.settings_dict["NAME"])
    # Much may still be in the log that no checkpoint has moved.
    parts = (name, f"{name}-wal", f"{name}-shm")
    return sum(os.stat(part).st_size for part in parts if os.path.exists(part))  # noqa: PTH110, PTH116 - may be a URI


def details() -> dict[str, Any]:
    """Return figures of tables and sessions. Raises DatabaseError."""
    if connection.vendor == "postgresql":
        return {
            "overview": overview(),
            "database": _rows(_POSTGRESQL_DATABASE),
            "sessions": _rows(_POSTGRESQL_SESSIONS),
            "tables": _rows(_POSTGRESQL_TABLES),
        }
    pragmas = ("page_size", "page_count", "freelist_count", "journal_mode")
    return {
        "overview": overview(),
        "pragmas": {name: _rows(f"PRAGMA {name}")[0][name] for name in pragmas},
        "tables": [
            {
                "table": row["name"],
                "highest_rowid": None if row["wr"] else _highest_rowid(row["name"]),
            }
            for row in _rows(_SQLITE_TABLES)
        ],
    }


def _highest_rowid(table: str) -> int | None:
    """Return a cheap upper bound of the table's rows, None when it has none."""
    quoted = connection.ops.quote_name(table)
    found = fetched(f"SELECT rowid FROM {quoted} ORDER BY rowid DESC LIMIT 1")  # noqa: S608 - a name the database gave
    return int(found[0][0]) if found and str(found[0][0]).isdecimal() else None


def _rows(sql: str) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@cache
def _on_disk() -> tuple[frozenset[_Migration], dict[_Migration, frozenset[_Migration]]]:
    """Return all migrations of the code, and what each squashed one replaces."""
    disk = MigrationLoader(None).disk_migrations
    replaces = {key: frozenset(m.replaces) for key, m in disk.items() if m.replaces}
    return frozenset(disk), replaces


def missing_migrations() -> list[str]:
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


def applied_migrations() -> list[str]:
    """Return the applied migrations as `app.name`, sorted. Raises DatabaseError."""
    done = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in done)
