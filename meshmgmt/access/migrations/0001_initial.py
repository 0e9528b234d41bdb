import django.db.models.deletion
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('groups', '0001_initial'),
        ('inventory', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Policy',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'verbose_name_plural': 'policies',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Invite',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254)),
                ('name', models.CharField(max_length=255)),
                ('role', models.CharField(choices=[('owner', 'owner'), ('admin', 'admin'), ('network_admin', 'network_admin'), ('auditor', 'auditor'), ('user', 'user')], default='user', max_length=13)),
                ('token_hash', models.CharField(editable=False, max_length=64)),
                ('token_prefix', models.CharField(editable=False, max_length=8)),
                ('created_by', models.CharField(blank=True, editable=False, max_length=20)),
                ('accepted_by', models.CharField(blank=True, editable=False, max_length=20)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('token_hash',), name='invite_hash_unique')],
            },
        ),
        migrations.CreateModel(
            name='PolicyRule',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('enabled', models.BooleanField(default=True)),
                ('action', models.CharField(choices=[('accept', 'Accept'), ('drop', 'Drop')], default='accept', max_length=6)),
                ('bidirectional', models.BooleanField(default=True)),
                ('protocol', models.CharField(choices=[('all', 'All'), ('tcp', 'Tcp'), ('udp', 'Udp'), ('icmp', 'Icmp'), ('netbird-ssh', 'Ssh')], default='all', max_length=11)),
                ('ports', models.JSONField(blank=True, default=list)),
                ('port_ranges', models.JSONField(blank=True, default=list)),
                ('source_resource_id', models.CharField(blank=True, max_length=255)),
                ('source_resource_type', models.CharField(blank=True, max_length=6)),
                ('destination_resource_id', models.CharField(blank=True, max_length=255)),
                ('destination_resource_type', models.CharField(blank=True, max_length=6)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='access.policy')),
            ],
            options={
                'ordering': ['policy', 'position', 'id'],
            },
        ),
        migrations.CreateModel(
            name='PostureCheck',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('checks', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('name',), name='posture_check_name_unique')],
            },
        ),
        migrations.CreateModel(
            name='Route',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('network_id', models.CharField(max_length=40, verbose_name='network identifier')),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('enabled', models.BooleanField(default=True)),
                ('network', models.CharField(blank=True, max_length=43)),
                ('domains', models.JSONField(blank=True, default=list)),
                ('metric', models.PositiveIntegerField(default=9999)),
                ('masquerade', models.BooleanField(default=True)),
                ('keep_route', models.BooleanField(default=False)),
                ('skip_auto_apply', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('peer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='routes', to='inventory.peer')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Router',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('metric', models.PositiveIntegerField(default=9999)),
                ('masquerade', models.BooleanField(default=True)),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('network', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='routers', to='inventory.network')),
                ('peer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='routers', to='inventory.peer')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='SetupKey',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('type', models.CharField(choices=[('reusable', 'Reusable'), ('one-off', 'One Off')], default='reusable', max_length=8)),
                ('key_hash', models.CharField(editable=False, max_length=64)),
                ('key_prefix', models.CharField(editable=False, max_length=8)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('updated_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked', models.BooleanField(default=False)),
                ('used_times', models.PositiveIntegerField(default=0, editable=False)),
                ('last_used', models.DateTimeField(blank=True, editable=False, null=True)),
                ('usage_limit', models.PositiveIntegerField(default=0)),
                ('ephemeral', models.BooleanField(default=False)),
                ('allow_extra_dns_labels', models.BooleanField(default=False, verbose_name='allow extra DNS labels')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('key_hash',), name='setup_key_hash_unique')],
            },
        ),
        migrations.CreateModel(
            name='InviteAutoGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('invite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auto_group_links', to='access.invite')),
            ],
            options={
                'verbose_name': 'auto-group of an invite',
                'verbose_name_plural': 'auto-groups of invites',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('invite', 'group'), name='invite_auto_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='PolicyPostureCheck',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='posture_check_links', to='access.policy')),
                ('posture_check', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='policy_links', to='access.posturecheck')),
            ],
            options={
                'verbose_name': 'posture check of a policy',
                'verbose_name_plural': 'posture checks of policies',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('policy', 'posture_check'), name='policy_posture_check_unique')],
            },
        ),
        migrations.CreateModel(
            name='RouteAccessControlGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('route', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_control_group_links', to='access.route')),
            ],
            options={
                'verbose_name': 'access control group of a route',
                'verbose_name_plural': 'access control groups of routes',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('route', 'group'), name='route_access_control_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='RouteGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('route', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='access.route')),
            ],
            options={
                'verbose_name': 'group of a route',
                'verbose_name_plural': 'groups of routes',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('route', 'group'), name='route_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='RoutePeerGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('route', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='peer_group_links', to='access.route')),
            ],
            options={
                'verbose_name': 'peer group of a route',
                'verbose_name_plural': 'peer groups of routes',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('route', 'group'), name='route_peer_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='RouterPeerGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('router', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='peer_group_links', to='access.router')),
            ],
            options={
                'verbose_name': 'peer group of a router',
                'verbose_name_plural': 'peer groups of routers',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('router', 'group'), name='router_peer_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='RuleAuthorizedGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('local_users', models.TextField(blank=True)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='authorized_group_links', to='access.policyrule')),
            ],
            options={
                'verbose_name': 'authorized group of a rule',
                'verbose_name_plural': 'authorized groups of rules',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('rule', 'group'), name='rule_authorized_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='RuleDestination',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='destination_links', to='access.policyrule')),
            ],
            options={
                'verbose_name': 'destination of a rule',
                'verbose_name_plural': 'destinations of rules',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('rule', 'group'), name='rule_destination_unique')],
            },
        ),
        migrations.CreateModel(
            name='RuleSource',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='source_links', to='access.policyrule')),
            ],
            options={
                'verbose_name': 'source of a rule',
                'verbose_name_plural': 'sources of rules',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('rule', 'group'), name='rule_source_unique')],
            },
        ),
        migrations.CreateModel(
            name='SetupKeyAutoGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('setup_key', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auto_group_links', to='access.setupkey')),
            ],
            options={
                'verbose_name': 'auto-group of a setup key',
                'verbose_name_plural': 'auto-groups of setup keys',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('setup_key', 'group'), name='setup_key_auto_group_unique')],
            },
        ),
        migrations.CreateModel(
            name='UserAutoGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='auto_group_links', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'auto-group of a user',
                'verbose_name_plural': 'auto-groups of users',
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('user', 'group'), name='user_auto_group_unique')],
            },
        ),
    ]
