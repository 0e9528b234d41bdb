"""Keys of the events that are there already, and the index of all, beside running writers."""

from django.db import migrations, models, transaction

from events.audit.histories import history_key

CHUNK = 1000
INDEX = "audit_history"


def fill(apps, schema_editor):
    """Fill what has no key yet, so a run that was interrupted goes on."""
    rows = apps.get_model("events", "AuditEvent").objects.filter(history_key=None)
    needed = ("activity_code", "target_id", "target_type", "meta", "changes")
    last = 0
    while chunk := list(rows.filter(id__gt=last).order_by("id").only(*needed)[:CHUNK]):
        keys = [(history_key(event), event.id) for event in chunk]
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE events_auditevent SET history_key = %s WHERE id = %s", keys
            )
        last = chunk[-1].id


def index(apps, schema_editor):
    """Build it without keeping writers out; one that was left half built goes first."""
    at_once = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {at_once} IF EXISTS {INDEX}")
    schema_editor.execute(
        f"CREATE INDEX {at_once} {INDEX} ON events_auditevent (history_key, id)"
    )


def unindex(apps, schema_editor):
    schema_editor.execute(f"DROP INDEX IF EXISTS {INDEX}")


class Migration(migrations.Migration):

    atomic = False  # for CONCURRENTLY; each step may be repeated

    dependencies = [
        ("events", "0007_history_key"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(index, unindex)],
            state_operations=[
                migrations.AddIndex(
                    model_name="auditevent",
                    index=models.Index(fields=["history_key", "id"], name=INDEX),
                ),
            ],
        ),
    ]
