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
            name='Group',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('issued', models.CharField(choices=[('api', 'API'), ('integration', 'integration'), ('jwt', 'JWT')], default='api', editable=False, max_length=11)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['name'], name='group_name')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('issued', 'api')), fields=('name',), name='group_name_unique')],
            },
        ),
        migrations.CreateModel(
            name='GroupPeer',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='peer_links', to='groups.group')),
                ('peer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='inventory.peer')),
            ],
            options={
                'verbose_name': 'peer of a group',
                'verbose_name_plural': 'peers of groups',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('group', 'peer'), name='group_peer_unique')],
            },
        ),
        migrations.CreateModel(
            name='GroupResource',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('resource_id', models.CharField(db_index=True, max_length=255)),
                ('resource_type', models.CharField(max_length=20)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='resource_links', to='groups.group')),
            ],
            options={
                'verbose_name': 'resource of a group',
                'verbose_name_plural': 'resources of groups',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('group', 'resource_id', 'resource_type'), name='group_resource_unique')],
            },
        ),
    ]
