"""Sums of the big streams by hour and day.

Keys compare as in the streams; room is left in pages, for sums of the running day grow.
"""

from django.db import migrations, models


def suit(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in ("events_trafficrollup", "events_proxyrollup"):
        schema_editor.execute(f'ALTER TABLE {table} ALTER COLUMN key TYPE text COLLATE "C"')
        schema_editor.execute(f"ALTER TABLE {table} SET (fillfactor = 80)")


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0005_arrival'),
    ]

    operations = [
        migrations.CreateModel(
            name='RollUpMark',
            fields=[
                ('stream', models.TextField(primary_key=True, serialize=False)),
                ('arrival', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ProxyRollUp',
            fields=[
                ('pk', models.CompositePrimaryKey('family', 'width', 'start', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('family', models.SmallIntegerField()),
                ('width', models.IntegerField(help_text='seconds: 3600 or 86400')),
                ('start', models.BigIntegerField(help_text='seconds since 1970')),
                ('key', models.TextField()),
                ('events', models.BigIntegerField()),
                ('first', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('bytes_upload', models.BigIntegerField()),
                ('bytes_download', models.BigIntegerField()),
                ('failures', models.BigIntegerField()),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RollUpGap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stream', models.TextField()),
                ('day', models.DateField()),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('stream', 'day'), name='roll_up_gap_key')],
            },
        ),
        migrations.CreateModel(
            name='TrafficRollUp',
            fields=[
                ('pk', models.CompositePrimaryKey('family', 'width', 'start', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('family', models.SmallIntegerField()),
                ('width', models.IntegerField(help_text='seconds: 3600 or 86400')),
                ('start', models.BigIntegerField(help_text='seconds since 1970')),
                ('key', models.TextField()),
                ('events', models.BigIntegerField()),
                ('first', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('rx_bytes', models.BigIntegerField()),
                ('tx_bytes', models.BigIntegerField()),
                ('flows', models.BigIntegerField()),
                ('drops', models.BigIntegerField()),
            ],
            options={
                'abstract': False,
                'default_permissions': (),
            },
        ),
        migrations.RunPython(suit, migrations.RunPython.noop),
    ]
