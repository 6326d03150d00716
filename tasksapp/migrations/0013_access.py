"""Names of API keys are those of a tenant; a key is also found by the prefix that it had before it was replaced."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0012_tenants_keys_and_alerts'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.UniqueConstraint(fields=('tenant', 'name'), name='delayhub_key_name'),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='name',
            field=models.CharField(max_length=200, verbose_name='name'),
        ),
        migrations.AddIndex(
            model_name='apikey',
            index=models.Index(condition=models.Q(('previous_prefix', ''), _negated=True), fields=['previous_prefix'], name='delayhub_key_previous'),
        ),
    ]
