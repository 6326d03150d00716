"""The index of flow keys leaves out jobs that run, so that a claim writes one entry less."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0028_series_bytes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('flow_key__gt', ''), models.Q(('status', 'running'), _negated=True)), fields=['biz_type', 'flow_key', 'id'], name='delayhub_job_key_not_running'),
        ),
        migrations.RemoveIndex(
            model_name='job',
            name='delayhub_job_flow_key',
        ),
    ]
