import django.db.models.deletion
import meshmgmt.accounts.models.account
import meshmgmt.accounts.models.users
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='e-mail address')),
                ('email_key', meshmgmt.accounts.models.users.EmailKeyField(editable=False, max_length=508, null=True, unique=True, verbose_name='e-mail address')),
                ('name', models.CharField(blank=True, max_length=255)),
                ('role', models.CharField(choices=[('owner', 'owner'), ('admin', 'admin'), ('network_admin', 'network admin'), ('auditor', 'auditor'), ('user', 'user')], default='user', max_length=20)),
                ('subject', models.CharField(editable=False, max_length=512, null=True, unique=True)),
                ('password_is_temporary', models.BooleanField(default=False, editable=False)),
                ('is_service_user', models.BooleanField(default=False)),
                ('is_blocked', models.BooleanField(default=False, verbose_name='blocked')),
                ('pending_approval', models.BooleanField(default=False)),
                ('issued', models.CharField(choices=[('api', 'Api'), ('integration', 'Integration'), ('jwt', 'Jwt')], default='api', editable=False, max_length=20)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('is_service_user', False), ('email', ''), _connector='OR'), name='user_service_users_have_no_email')],
            },
        ),
        migrations.CreateModel(
            name='AccessToken',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('hash', models.CharField(editable=False, max_length=64, unique=True)),
                ('scope', models.CharField(blank=True, choices=[('', 'everything the user may do'), ('ingest', 'the ingest of events alone')], default='', max_length=20)),
                ('created_by', models.CharField(editable=False, max_length=64)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('expires_at', models.DateTimeField()),
                ('last_used', models.DateTimeField(blank=True, editable=False, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'access token',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('only', models.BooleanField(default=True, editable=False, unique=True)),
                ('dns_domain', models.CharField(blank=True, default=meshmgmt.accounts.models.account.default_dns_domain, max_length=255)),
                ('default_dns_domain', models.CharField(blank=True, db_default='', default='', editable=False, max_length=255)),
                ('domain', models.CharField(blank=True, max_length=255)),
                ('domain_category', models.CharField(blank=True, max_length=20)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('created_by', models.CharField(blank=True, editable=False, max_length=64)),
                ('first_steps_dismissed', models.BooleanField(db_default=False, default=False, editable=False)),
                ('peer_login_expiration_enabled', models.BooleanField(default=True)),
                ('peer_login_expiration', models.PositiveIntegerField(default=86400)),
                ('peer_inactivity_expiration_enabled', models.BooleanField(default=False)),
                ('peer_inactivity_expiration', models.PositiveIntegerField(default=600)),
                ('peer_approval_enabled', models.BooleanField(default=False)),
                ('user_approval_required', models.BooleanField(default=True)),
                ('regular_users_view_blocked', models.BooleanField(default=True)),
                ('groups_propagation_enabled', models.BooleanField(default=True)),
                ('jwt_groups_enabled', models.BooleanField(default=False)),
                ('jwt_groups_claim_name', models.CharField(blank=True, max_length=255)),
                ('jwt_allow_groups', models.JSONField(blank=True, default=list)),
                ('routing_peer_dns_resolution_enabled', models.BooleanField(default=True)),
                ('network_range', models.CharField(default='100.64.0.0/10', max_length=50)),
                ('network_range_v6', models.CharField(blank=True, max_length=50)),
                ('ipv6_enabled_groups', models.JSONField(blank=True, default=list)),
                ('peer_expose_enabled', models.BooleanField(default=False)),
                ('peer_expose_groups', models.JSONField(blank=True, default=list)),
                ('lazy_connection_enabled', models.BooleanField(default=True)),
                ('auto_update_version', models.CharField(default='disabled', max_length=50)),
                ('auto_update_always', models.BooleanField(default=False)),
                ('metrics_push_enabled', models.BooleanField(default=False)),
                ('local_auth_disabled', models.BooleanField(default=False)),
                ('local_mfa_enabled', models.BooleanField(default=False)),
                ('network_traffic_logs_enabled', models.BooleanField(default=True)),
                ('network_traffic_logs_groups', models.JSONField(blank=True, default=list)),
                ('network_traffic_packet_counter_enabled', models.BooleanField(default=False)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('only', True)), name='account_is_the_only_one')],
            },
        ),
        migrations.CreateModel(
            name='WrongPassword',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('account', models.CharField(max_length=64)),
                ('address', models.CharField(max_length=64)),
                ('at', models.DateTimeField(default=meshmgmt.core.clock.now)),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'at'], name='wrong_password_account'), models.Index(fields=['address', 'at'], name='wrong_password_address')],
            },
        ),
    ]
