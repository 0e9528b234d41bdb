import django.db.models.deletion
import meshmgmt.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('groups', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Thing',
            fields=[
                ('id', models.CharField(default=meshmgmt.core.ids.new_id, editable=False, max_length=20, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=40)),
                ('enabled', models.BooleanField(default=True)),
                ('notes', models.CharField(blank=True, max_length=100)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ThingGroup',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(default=0)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='groups.group')),
                ('thing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_links', to='throwaway.thing')),
            ],
            options={
                'ordering': ['position', 'id'],
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('thing', 'group'), name='throwaway_thing_group')],
            },
        ),
    ]
