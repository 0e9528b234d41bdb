"""Sums of six hours and of weeks beside those of hours and days.

Sums that are there are made anew: a day's stood there before the day was over.
"""

from django.db import migrations, models


def begin_anew(apps, schema_editor):
    for model in ("TrafficRollUp", "ProxyRollUp", "RollUpMark", "RollUpGap"):
        table = apps.get_model("events", model)._meta.db_table
        schema_editor.execute(f"DELETE FROM {table}")


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0008_history_index"),
    ]

    operations = [
        migrations.RunPython(begin_anew, migrations.RunPython.noop),
        migrations.AddField(
            model_name="rollupmark",
            name="until",
            field=models.BigIntegerField(default=0, help_text="seconds since 1970"),
        ),
        *(
            migrations.AlterField(
                model_name=model,
                name="width",
                field=models.IntegerField(help_text="seconds"),
            )
            for model in ("trafficrollup", "proxyrollup")
        ),
    ]
