"""The key of the history that an event belongs to; 0008 fills it and builds its index."""

import events.models.audit
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0006_roll_ups"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditevent",
            name="history_key",
            field=events.models.audit.HistoryKeyField(editable=False, null=True),
        ),
    ]
