"""A CNAME is alone at its name, guarded by PostgreSQL.

An exclusion constraint cannot be made on SQLite; its one writer at a time and the rules
stand alone there. The extension is "trusted": whoever may create in the database may
install it.
"""

from django.db import migrations

CONSTRAINT = "dns_record_cname_alone"


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
        schema_editor.execute(
            f"ALTER TABLE dns_record ADD CONSTRAINT {CONSTRAINT} EXCLUDE USING gist"
            " (zone_id WITH =, canonical_name WITH =,"
            " (CASE WHEN type = 'CNAME' THEN 1 ELSE 0 END) WITH <>)"
        )


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE dns_record DROP CONSTRAINT {CONSTRAINT}")


class Migration(migrations.Migration):
    dependencies = [("dns", "0001_initial")]
    operations = [migrations.RunPython(add, remove)]
