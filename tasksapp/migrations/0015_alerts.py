"""Messages about alerts, who watches for them, and what tells a blip from an alert that comes back."""

import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0014_metrics'),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('channel', models.CharField(choices=[('mail', 'mail'), ('webhook', 'webhook')], max_length=10, verbose_name='by')),
                ('address', models.CharField(max_length=2000, verbose_name='address')),
                ('subject', models.CharField(max_length=300, verbose_name='subject')),
                ('text', models.TextField(verbose_name='text')),
                ('payload', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(verbose_name='created at')),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent at')),
                ('given_up_at', models.DateTimeField(blank=True, null=True, verbose_name='given up at')),
                ('next_at', models.DateTimeField(blank=True, help_text='When it is sent next; empty: never again.', null=True)),
                ('failed_sends', models.PositiveIntegerField(default=0, verbose_name='failed sends')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
            ],
            options={
                'verbose_name': 'alert message',
                'verbose_name_plural': 'alert messages',
                'db_table': 'delayhub_alert_message',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='AlertWatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('holder', models.CharField(blank=True, max_length=64)),
                ('is_worker', models.BooleanField(default=False, help_text="A web process may take a worker's seat at any time.")),
                ('until', models.DateTimeField(help_text='By the clock of the database.')),
            ],
            options={
                'verbose_name': 'alert watch',
                'db_table': 'delayhub_alert_watch',
            },
        ),
        migrations.RemoveField(
            model_name='alert',
            name='failed_sends',
        ),
        migrations.RemoveField(
            model_name='alert',
            name='last_error',
        ),
        migrations.AddField(
            model_name='alert',
            name='clear_since',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='alert',
            name='reminded_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='reminded at'),
        ),
        migrations.AddField(
            model_name='alert',
            name='returns',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='How often it came back soon after it was over.', verbose_name='returns'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('database_away', 'database away'), ('redis_away', 'Redis away'), ('not_delivering', 'no job is delivered'), ('late_delivery', 'jobs may be late'), ('breaker_open', 'receiver down'), ('overdue', 'jobs overdue'), ('dead', 'jobs die')], max_length=40, verbose_name='kind'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['ended_at'], name='delayhub_alert_ended'),
        ),
        migrations.AddField(
            model_name='alertmessage',
            name='alerts',
            field=models.ManyToManyField(db_table='delayhub_alert_message_alerts', related_name='messages', to='tasksapp.alert'),
        ),
        migrations.AddIndex(
            model_name='alertmessage',
            index=models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='delayhub_alert_message_due'),
        ),
    ]
