"""A column and an index more for a large table, in the way that such migrations must go."""

from django.db import migrations

TABLE = "events_auditevent"


def add(apps, schema_editor):
    at_once = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"ALTER TABLE {TABLE} ADD COLUMN later text NULL")
    schema_editor.execute(f"CREATE INDEX {at_once} audit_later ON {TABLE} (later, target_id)")


class Migration(migrations.Migration):

    atomic = False  # for CONCURRENTLY

    dependencies = [("events", "0001_initial")]

    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
