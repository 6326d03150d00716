"""Finds a key by the prefix that it had before it was replaced."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0012_tenants_keys_and_alerts'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='apikey',
            index=models.Index(condition=models.Q(('previous_prefix', ''), _negated=True), fields=['previous_prefix'], name='delayhub_key_previous'),
        ),
    ]
