import django.db.models.deletion
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('inventory', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='MapChange',
            fields=[
                ('serial', models.BigIntegerField(primary_key=True, serialize=False)),
                ('touched', models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name='ProxyToken',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('hash', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('last_used', models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                'verbose_name': 'proxy token',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='SpentToken',
            fields=[
                ('hash', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='StreamProcess',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, max_length=20, primary_key=True, serialize=False)),
                ('started_at', models.DateTimeField(default=meshmgmt.core.clock.now)),
                ('seen_at', models.DateTimeField(default=meshmgmt.core.clock.now)),
            ],
        ),
        migrations.CreateModel(
            name='PeerJob',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, max_length=20, primary_key=True, serialize=False)),
                ('triggered_by', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now)),
                ('sent_at', models.DateTimeField(null=True)),
                ('completed_at', models.DateTimeField(null=True)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('succeeded', 'Succeeded'), ('failed', 'Failed')], default='pending', max_length=16)),
                ('failed_reason', models.TextField(blank=True)),
                ('parameters', models.JSONField()),
                ('upload_key', models.TextField(blank=True)),
                ('peer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='jobs', to='inventory.peer')),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['status', 'created_at'], name='job_status')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status', 'pending')), fields=('peer',), name='job_one_pending_per_peer')],
            },
        ),
    ]
