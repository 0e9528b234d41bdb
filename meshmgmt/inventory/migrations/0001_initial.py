import django.db.models.deletion
import meshmgmt.core.clock
import meshmgmt.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Network',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Peer',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('wg_public_key', models.CharField(max_length=44, unique=True, verbose_name='WireGuard public key')),
                ('ip', models.CharField(max_length=15, unique=True, verbose_name='IPv4 address')),
                ('ipv6', models.CharField(blank=True, max_length=39, null=True, unique=True, verbose_name='IPv6 address')),
                ('dns_label', models.CharField(max_length=63, unique=True, verbose_name='DNS label')),
                ('extra_dns_labels', models.JSONField(blank=True, default=list, verbose_name='extra DNS labels')),
                ('setup_key_id', models.CharField(blank=True, editable=False, max_length=20)),
                ('setup_key_name', models.CharField(blank=True, editable=False, max_length=255)),
                ('hostname', models.CharField(blank=True, max_length=255)),
                ('os', models.CharField(blank=True, max_length=255, verbose_name='operating system')),
                ('os_version', models.CharField(blank=True, max_length=255, verbose_name='version of it')),
                ('go_os', models.CharField(blank=True, max_length=64, verbose_name='platform')),
                ('kernel', models.CharField(blank=True, max_length=255)),
                ('kernel_version', models.CharField(blank=True, max_length=255)),
                ('platform', models.CharField(blank=True, max_length=255, verbose_name='processor')),
                ('version', models.CharField(blank=True, max_length=64, verbose_name='client version')),
                ('ui_version', models.CharField(blank=True, max_length=64, verbose_name='UI version')),
                ('serial_number', models.CharField(blank=True, max_length=255)),
                ('product_name', models.CharField(blank=True, max_length=255)),
                ('manufacturer', models.CharField(blank=True, max_length=255)),
                ('environment', models.JSONField(blank=True, default=dict)),
                ('network_addresses', models.JSONField(blank=True, default=list)),
                ('files', models.JSONField(blank=True, default=list)),
                ('capabilities', models.JSONField(blank=True, default=list)),
                ('sync_message_version', models.PositiveIntegerField(default=0)),
                ('ssh_key', models.TextField(blank=True, editable=False, verbose_name='SSH public key')),
                ('ssh_enabled', models.BooleanField(default=False, verbose_name='SSH server enabled')),
                ('login_expiration_enabled', models.BooleanField(default=False)),
                ('inactivity_expiration_enabled', models.BooleanField(default=False)),
                ('login_expired', models.BooleanField(default=False)),
                ('approval_required', models.BooleanField(default=False)),
                ('disapproval_reason', models.CharField(blank=True, max_length=255)),
                ('ephemeral', models.BooleanField(default=False)),
                ('allow_extra_dns_labels', models.BooleanField(default=False, editable=False, verbose_name='may have extra DNS labels')),
                ('local_flags', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('connected', models.BooleanField(default=False)),
                ('stream_started', models.BigIntegerField(default=0, editable=False)),
                ('stream_process', models.CharField(blank=True, db_index=True, editable=False, max_length=20)),
                ('last_seen', models.DateTimeField(blank=True, null=True)),
                ('last_login', models.DateTimeField(blank=True, null=True)),
                ('connection_ip', models.CharField(blank=True, max_length=39, verbose_name='connects from')),
                ('country_code', models.CharField(blank=True, max_length=2)),
                ('city_name', models.CharField(blank=True, max_length=128)),
                ('geoname_id', models.PositiveIntegerField(default=0, verbose_name='GeoNames id')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='peers', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='NetworkResource',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.CharField(blank=True, max_length=1000)),
                ('type', models.CharField(choices=[('host', 'Host'), ('subnet', 'Subnet'), ('domain', 'Domain')], max_length=6)),
                ('address', models.CharField(max_length=255)),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=meshmgmt.core.clock.now, editable=False)),
                ('network', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='resources', to='inventory.network')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('name',), name='resource_name_unique')],
            },
        ),
    ]
