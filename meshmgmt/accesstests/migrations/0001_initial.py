import meshmgmt.core.clock
import meshmgmt.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Looked',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('serial', models.BigIntegerField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AccessTest',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('enabled', models.BooleanField(default=True)),
                ('enforce', models.BooleanField(default=False)),
                ('kind', models.CharField(choices=[('access', 'access'), ('dns', 'dns')], default='access', max_length=6)),
                ('source_kind', models.CharField(max_length=8)),
                ('source_ref', models.CharField(blank=True, max_length=255)),
                ('destination_kind', models.CharField(max_length=8)),
                ('destination_ref', models.CharField(blank=True, max_length=255)),
                ('protocol', models.CharField(choices=[('all', 'all'), ('tcp', 'tcp'), ('udp', 'udp'), ('icmp', 'icmp')], default='all', max_length=4)),
                ('port', models.PositiveIntegerField(blank=True, null=True)),
                ('expect', models.CharField(choices=[('reach', 'reach'), ('never', 'never')], max_length=5)),
                ('record_type', models.CharField(choices=[('A', 'A'), ('AAAA', 'AAAA'), ('CNAME', 'CNAME')], default='A', max_length=5)),
                ('contents', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('state', models.CharField(default='empty', editable=False, max_length=7)),
                ('failures', models.JSONField(default=list, editable=False)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('name',), name='access_test_name_unique')],
            },
        ),
    ]
