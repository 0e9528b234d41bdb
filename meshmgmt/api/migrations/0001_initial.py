import django.db.models.deletion
import meshmgmt.core.clock
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='UsedPermits',
            fields=[
                ('key', models.CharField(max_length=80, primary_key=True, serialize=False)),
                ('used', models.JSONField(default=dict)),
                ('until', models.DateTimeField(db_index=True)),
            ],
            options={
                'verbose_name_plural': 'used permits',
            },
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user_id', models.CharField(max_length=64)),
                ('key', models.CharField(max_length=255)),
                ('request', models.CharField(max_length=64)),
                ('sealed', models.BinaryField()),
                ('at', models.DateTimeField(db_index=True, default=meshmgmt.core.clock.now)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user_id', 'key'), name='kept_answer_user_key')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('list', models.CharField(max_length=100)),
                ('name', models.CharField(max_length=100)),
                ('query', models.TextField()),
                ('is_default', models.BooleanField(default=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'list', 'name'), name='saved_view_name'), models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('user', 'list'), name='saved_view_default')],
            },
        ),
    ]
