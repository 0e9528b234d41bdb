"""Free-text search in the audit trail, by the means of the big streams (0002).

SQLite: a later migration that rebuilds the table must make the triggers anew.
"""

import importlib

import events.models.audit
from django.db import migrations

streams = importlib.import_module("events.migrations.0002_streams")

CHUNK = 1000


def fill(apps, schema_editor):
    """Give the rows that are there already their searchable text."""
    model = apps.get_model("events", "AuditEvent")
    rows = model.objects.order_by("id")
    last = 0
    while chunk := list(rows.filter(id__gt=last)[:CHUNK]):
        for event in chunk:
            event.save(update_fields=["search"])
        last = chunk[-1].id


def index(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE INDEX audit_search ON events_auditevent USING gin (search gin_trgm_ops)"
        )
    elif streams.has_trigrams():
        for statement in streams.full_text("events_auditevent", key="id"):
            schema_editor.execute(statement, params=None)
        schema_editor.execute(
            "INSERT INTO events_auditevent_fts(rowid, search)"
            " SELECT id, search FROM events_auditevent"
        )


def unindex(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX audit_search")
        return
    for name in ("insert", "delete"):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS events_auditevent_fts_{name}")
    schema_editor.execute("DROP TABLE IF EXISTS events_auditevent_fts")


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0002_streams'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditevent',
            name='search',
            field=events.models.audit.TrailTextField(default='', editable=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(index, unindex),
    ]
