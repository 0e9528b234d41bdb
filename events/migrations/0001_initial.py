import django.db.models.deletion
import events.models.audit
import meshmgmt.core.clock
from django.db import migrations, models

from events.migrations import _search, _streams


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        # Search indexes and partitions are beyond what models say.
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(_streams.create, _streams.drop)],
            state_operations=[
                migrations.CreateModel(
                    name='ProxyEntry',
                    fields=[
                        ('id', models.TextField(primary_key=True, serialize=False)),
                        ('timestamp', models.DateTimeField()),
                        ('service_id', models.TextField()),
                        ('host', models.TextField()),
                        ('path', models.TextField()),
                        ('method', models.TextField()),
                        ('status_code', models.SmallIntegerField(verbose_name='status')),
                        ('duration_ms', models.IntegerField(verbose_name='duration (ms)')),
                        ('source_ip', models.TextField(verbose_name='source address')),
                        ('user_id', models.TextField()),
                        ('auth_method_used', models.TextField()),
                        ('reason', models.TextField()),
                        ('bytes_upload', models.BigIntegerField()),
                        ('bytes_download', models.BigIntegerField()),
                        ('country_code', models.TextField()),
                        ('search', models.TextField()),
                        ('body', models.TextField()),
                        ('arrival', models.BigIntegerField(db_column='n', editable=False, null=True)),
                    ],
                    options={
                        'verbose_name': 'proxy access log entry',
                        'verbose_name_plural': 'proxy access log entries',
                        'ordering': ['-timestamp', '-id'],
                        'abstract': False,
                        'managed': True,
                        'default_permissions': ('view',),
                    },
                ),
                migrations.CreateModel(
                    name='TrafficEvent',
                    fields=[
                        ('id', models.TextField(primary_key=True, serialize=False)),
                        ('time', models.DateTimeField(verbose_name='time')),
                        ('reporter_id', models.TextField()),
                        ('user_id', models.TextField()),
                        ('source_id', models.TextField()),
                        ('destination_id', models.TextField()),
                        ('policy_id', models.TextField()),
                        ('source_address', models.TextField()),
                        ('destination_address', models.TextField()),
                        ('protocol', models.SmallIntegerField(choices=[(1, 'ICMP'), (6, 'TCP'), (17, 'UDP')])),
                        ('direction', models.SmallIntegerField(choices=[(0, 'DIRECTION_UNKNOWN'), (1, 'INGRESS'), (2, 'EGRESS')])),
                        ('connection_type', models.SmallIntegerField(choices=[(0, 'P2P'), (1, 'ROUTED')])),
                        ('kinds', models.SmallIntegerField(help_text='bits of the event types, 1 = unknown')),
                        ('rx_bytes', models.BigIntegerField(verbose_name='received bytes')),
                        ('tx_bytes', models.BigIntegerField(verbose_name='sent bytes')),
                        ('flows', models.BigIntegerField()),
                        ('drops', models.BigIntegerField()),
                        ('search', models.TextField()),
                        ('body', models.TextField()),
                        ('arrival', models.BigIntegerField(db_column='n', editable=False, null=True)),
                    ],
                    options={
                        'verbose_name': 'network traffic event',
                        'ordering': ['-time', '-id'],
                        'abstract': False,
                        'managed': True,
                        'default_permissions': ('view',),
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name='AuditKey',
            fields=[
                ('id', models.CharField(max_length=16, primary_key=True, serialize=False)),
                ('public_key', models.BinaryField()),
                ('sealed', models.BinaryField()),
                ('valid_from', models.DateTimeField(default=meshmgmt.core.clock.now)),
                ('valid_until', models.DateTimeField(null=True)),
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
                ('width', models.IntegerField(help_text='seconds')),
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
            name='RollUpMark',
            fields=[
                ('stream', models.TextField(primary_key=True, serialize=False)),
                ('arrival', models.BigIntegerField()),
                ('until', models.BigIntegerField(default=0, help_text='seconds since 1970')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='TrafficRollUp',
            fields=[
                ('pk', models.CompositePrimaryKey('family', 'width', 'start', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('family', models.SmallIntegerField()),
                ('width', models.IntegerField(help_text='seconds')),
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
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('timestamp', models.DateTimeField(default=meshmgmt.core.clock.now)),
                ('activity_code', models.CharField(max_length=80)),
                ('initiator_id', models.CharField(blank=True, max_length=64)),
                ('initiator_name', models.CharField(blank=True, max_length=255)),
                ('initiator_email', models.CharField(blank=True, max_length=320)),
                ('target_id', models.CharField(blank=True, max_length=64)),
                ('target_type', models.CharField(blank=True, max_length=64)),
                ('meta', models.JSONField(blank=True, default=dict)),
                ('changes', models.JSONField(blank=True, default=dict)),
                ('request_id', models.CharField(blank=True, max_length=32)),
                ('source_address', models.CharField(blank=True, max_length=64)),
                ('token_id', models.CharField(blank=True, max_length=32)),
                ('search', events.models.audit.TrailTextField(default='', editable=False)),
                ('history_key', events.models.audit.HistoryKeyField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'audit event',
                'ordering': ['-id'],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['timestamp'], name='audit_timestamp'), models.Index(fields=['activity_code', 'id'], name='audit_activity'), models.Index(fields=['initiator_id', 'id'], name='audit_initiator'), models.Index(fields=['target_id', 'id'], name='audit_target'), models.Index(fields=['history_key', 'id'], name='audit_history')],
            },
        ),
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tree_size', models.BigIntegerField()),
                ('root_hash', models.BinaryField()),
                ('timestamp', models.DateTimeField()),
                ('signature', models.BinaryField()),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='events.auditkey')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AuditTile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level', models.SmallIntegerField()),
                ('number', models.BigIntegerField()),
                ('hashes', models.BinaryField()),
                ('event_ids', models.BinaryField(default=bytes)),
                ('first_event_id', models.BigIntegerField(db_index=True, null=True)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('level', 'number'), name='audit_tile_place')],
            },
        ),
        migrations.CreateModel(
            name='ProxyTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('method', models.CharField(max_length=16)),
                ('status_code', models.SmallIntegerField()),
                ('rows', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('day', 'method', 'status_code'), name='proxy_tally_key')],
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
            name='TrafficTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('protocol', models.SmallIntegerField()),
                ('direction', models.SmallIntegerField()),
                ('connection_type', models.SmallIntegerField()),
                ('kinds', models.SmallIntegerField()),
                ('rows', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('day', 'protocol', 'direction', 'connection_type', 'kinds'), name='traffic_tally_key')],
            },
        ),
        migrations.RunPython(_search.index_audit, _search.unindex_audit),
        migrations.RunPython(_streams.suit_roll_ups, migrations.RunPython.noop),
    ]
