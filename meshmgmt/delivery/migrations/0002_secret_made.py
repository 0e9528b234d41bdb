"""When the secret of a webhook was made, to end the one before a day later."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0001_initial")]

    operations = [
        migrations.AddField(
            "subscription",
            "secret_made",
            models.DateTimeField(editable=False, null=True),
        )
    ]
