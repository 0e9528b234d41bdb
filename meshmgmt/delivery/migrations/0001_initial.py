import django.db.models.deletion
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('stream', models.CharField(choices=[('audit', 'audit'), ('network-traffic', 'network-traffic'), ('proxy', 'proxy')], max_length=32)),
                ('filters', models.JSONField(blank=True, default=dict)),
                ('target', models.JSONField()),
                ('enabled', models.BooleanField(default=True)),
                ('sealed_secret', models.BinaryField(default=b'')),
                ('secret_made', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('cursor', models.BigIntegerField(default=0)),
                ('batch_limit', models.IntegerField(default=500)),
                ('revision', models.IntegerField(default=0)),
                ('failures', models.IntegerField(default=0, verbose_name='failures in a row')),
                ('next_attempt', models.DateTimeField(null=True)),
                ('last_success', models.DateTimeField(null=True)),
                ('last_error', models.TextField(blank=True)),
                ('replay_from', models.DateTimeField(null=True)),
                ('replay_until', models.DateTimeField(null=True)),
                ('replay_after', models.JSONField(null=True)),
                ('test_asked', models.DateTimeField(null=True)),
                ('test_result', models.TextField(blank=True)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('name',), name='subscription_name_unique')],
            },
        ),
        migrations.CreateModel(
            name='DeadLetter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('event_id', models.TextField()),
                ('event_time', models.DateTimeField()),
                ('error', models.TextField()),
                ('created_at', models.DateTimeField(db_index=True, default=meshmgmt.core.clock.now)),
                ('subscription', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='delivery.subscription')),
            ],
            options={
                'ordering': ['-id'],
                'default_permissions': ('view',),
            },
        ),
    ]
