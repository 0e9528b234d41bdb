"""Indexes for free-text search, by trigrams.

SQLite: FTS5 tables kept in step by triggers, where its library has them. A later migration
that rebuilds a searched table there must make the triggers anew.
"""

import sqlite3

EXTENSION = ["CREATE EXTENSION IF NOT EXISTS pg_trgm"]
AUDIT = "events_auditevent"


def full_text(table, key):
    """Return the statements that index `table.search` on SQLite, if it can."""
    if not has_trigrams():
        return []
    index = f"{table}_fts"
    return [
        f"CREATE VIRTUAL TABLE {index} USING fts5(search, content='{table}',"
        f" content_rowid='{key}', tokenize='trigram case_sensitive 1')",
        f"CREATE TRIGGER {index}_insert AFTER INSERT ON {table} BEGIN"
        f" INSERT INTO {index}(rowid, search) VALUES (new.{key}, new.search); END",
        f"CREATE TRIGGER {index}_delete AFTER DELETE ON {table} BEGIN"
        f" INSERT INTO {index}({index}, rowid, search)"
        f" VALUES ('delete', old.{key}, old.search); END",
    ]


def has_trigrams():
    """Tell whether this SQLite library has FTS5 with the trigram tokenizer (3.34)."""
    with sqlite3.connect(":memory:") as probe:
        try:
            probe.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
        except sqlite3.OperationalError:
            return False
    return True


def index_audit(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        statements = [
            f"CREATE INDEX audit_search ON {AUDIT} USING gin (search gin_trgm_ops)"
        ]
    else:
        statements = full_text(AUDIT, key="id")
    for statement in statements:
        schema_editor.execute(statement, params=None)


def unindex_audit(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX audit_search")
        return
    for name in ("insert", "delete"):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {AUDIT}_fts_{name}")
    schema_editor.execute(f"DROP TABLE IF EXISTS {AUDIT}_fts")
