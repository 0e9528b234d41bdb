"""A number for each event of the big streams that grows in the order of commits.

Batches take the lock of their stream before they insert, so the numbers of a sequence do
grow that way. It begins with the time in microseconds: numbers of a database that is put
back elsewhere are below those given from then on.
"""

from django.db import migrations, models

TABLES = {"events_trafficevent": "traffic_arrival", "events_proxyentry": "proxy_arrival"}

# Parts that are attached, and those that a retention has detached and not yet dropped.
PARTS = """
    SELECT relname, relispartition FROM pg_class WHERE relkind = 'r'
    AND starts_with(relname, %s)
    AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = %s::regclass)
"""


def add(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return  # SQLite's tables have it as their key
    for table, index in TABLES.items():
        parts = _parts(schema_editor, table)
        for name in [table, *(name for name, attached in parts if not attached)]:
            schema_editor.execute(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS n bigint")
        schema_editor.execute(f"CREATE SEQUENCE IF NOT EXISTS {index}_n")
        schema_editor.execute(
            f"SELECT setval('{index}_n', (extract(epoch FROM clock_timestamp()) * 1e6)::bigint)"
        )
        schema_editor.execute(
            f"ALTER TABLE {table} ALTER COLUMN n SET DEFAULT nextval('{index}_n')"
        )
        schema_editor.execute(f"CREATE INDEX IF NOT EXISTS {index} ON ONLY {table} (n)")
        for name, attached in parts:
            if attached:
                _index_part(schema_editor, name, index)


def _parts(schema_editor, table):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(PARTS, [f"{table}_p", table])
        return cursor.fetchall()


def _index_part(schema_editor, name, index):
    """Index a day while batches come in, unless a run before this one did."""
    own = f"{name}_n"
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_inherits JOIN pg_class ON oid = inhrelid"
            " WHERE inhparent = %s::regclass AND relname = %s",
            [index, own],
        )
        if cursor.fetchone():
            return
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {own}")
    schema_editor.execute(f"CREATE INDEX CONCURRENTLY {own} ON {name} (n)")
    schema_editor.execute(f"ALTER INDEX {index} ATTACH PARTITION {own}")


def remove(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table, index in TABLES.items():
        schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN n")
        schema_editor.execute(f"DROP SEQUENCE {index}_n")


class Migration(migrations.Migration):

    atomic = False  # for CONCURRENTLY; each step may be repeated

    dependencies = [
        ("events", "0004_proof"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add, remove)],
            state_operations=[
                migrations.AddField(
                    model_name=model,
                    name="arrival",
                    field=models.BigIntegerField(db_column="n", editable=False, null=True),
                )
                for model in ("trafficevent", "proxyentry")
            ],
        ),
    ]
