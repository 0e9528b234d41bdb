import django.db.models.deletion
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.db import migrations, models

# A CNAME is alone at its name, guarded by PostgreSQL. An exclusion constraint cannot be made
# on SQLite; its one writer at a time and the rules stand alone there. The extension is
# "trusted": whoever may create in the database may install it.
CONSTRAINT = "dns_record_cname_alone"


def add_cname_alone(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
        schema_editor.execute(
            f"ALTER TABLE dns_record ADD CONSTRAINT {CONSTRAINT} EXCLUDE USING gist"
            " (zone_id WITH =, canonical_name WITH =,"
            " (CASE WHEN type = 'CNAME' THEN 1 ELSE 0 END) WITH <>)"
        )


def remove_cname_alone(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE dns_record DROP CONSTRAINT {CONSTRAINT}")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('groups', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='DnsSettings',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
            ],
            options={
                'verbose_name': 'DNS settings',
                'verbose_name_plural': 'DNS settings',
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='dns_settings_single_row')],
            },
        ),
        migrations.CreateModel(
            name='NameserverGroup',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=40)),
                ('description', models.TextField(blank=True, default='')),
                ('nameservers', models.JSONField(default=list)),
                ('enabled', models.BooleanField(default=True)),
                ('primary', models.BooleanField(default=False)),
                ('domains', models.JSONField(blank=True, default=list)),
                ('search_domains_enabled', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('name',), name='dns_nameservergroup_name')],
            },
        ),
        migrations.CreateModel(
            name='Zone',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('domain', models.CharField(max_length=255)),
                ('canonical_domain', models.CharField(editable=False, max_length=1000)),
                ('enabled', models.BooleanField(default=True)),
                ('enable_search_domain', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('canonical_domain',), name='dns_zone_domain')],
            },
        ),
        migrations.CreateModel(
            name='DisabledManagementGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('settings', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='dns.dnssettings')),
            ],
            options={
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('settings', 'group'), name='dns_settings_group')],
            },
        ),
        migrations.CreateModel(
            name='NameserverGroupGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('nameserver_group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='dns.nameservergroup')),
            ],
            options={
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('nameserver_group', 'group'), name='dns_nameservergroup_group')],
            },
        ),
        migrations.CreateModel(
            name='Record',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('type', models.CharField(choices=[('A', 'A'), ('AAAA', 'AAAA'), ('CNAME', 'CNAME')], max_length=5)),
                ('content', models.CharField(max_length=255)),
                ('ttl', models.PositiveIntegerField(default=300)),
                ('canonical_name', models.CharField(editable=False, max_length=1000)),
                ('canonical_content', models.CharField(editable=False, max_length=1000)),
                ('zone', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='records', to='dns.zone')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('zone', 'canonical_name', 'type', 'canonical_content'), name='dns_record_identical'), models.UniqueConstraint(condition=models.Q(('type', 'CNAME')), fields=('zone', 'canonical_name'), name='dns_record_one_cname'), models.CheckConstraint(condition=models.Q(('ttl__gte', 0), ('ttl__lte', 2147483647)), name='dns_record_ttl')],
            },
        ),
        migrations.CreateModel(
            name='ZoneGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('zone', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='dns.zone')),
            ],
            options={
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('zone', 'group'), name='dns_zone_group')],
            },
        ),
        migrations.RunPython(add_cname_alone, remove_cname_alone),
    ]
