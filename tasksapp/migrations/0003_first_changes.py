"""Scopes are written as the paths of the API are, ``biz-types:read``; keys and biz types know where their tenant is; alerts are silenced."""

import tasksapp.models.api_key
from django.db import migrations, models


def renamed(before, after):
    def rename(apps, schema_editor):
        keys = apps.get_model("tasksapp", "ApiKey").objects.using(schema_editor.connection.alias)
        for key in keys.only("scopes"):
            scopes = [after + scope.removeprefix(before) if scope.startswith(before) else scope for scope in key.scopes]
            if scopes != key.scopes:
                keys.filter(pk=key.pk).update(scopes=scopes)

    return rename


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0002_first_rows"),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=models.JSONField(db_default=['jobs:read', 'jobs:write', 'jobs:act', 'biz-types:read'], default=tasksapp.models.api_key.usual_scopes, verbose_name='scopes'),
        ),
        migrations.RunPython(renamed("biz_types:", "biz-types:"), renamed("biz-types:", "biz_types:")),
        migrations.AddField(
            model_name='apikey',
            name='moved_to',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=300),
        ),
        migrations.AddField(
            model_name='biztype',
            name='moved_to',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=300),
        ),
        migrations.AddField(
            model_name='alert',
            name='is_quiet',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='It began in a silence, and nobody was told yet.'),
        ),
        migrations.AddField(
            model_name='alert',
            name='taken_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='taken at'),
        ),
        migrations.AddField(
            model_name='alert',
            name='taken_by',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who sees to it: no more reminders.', max_length=150, verbose_name='taken by'),
        ),
        migrations.CreateModel(
            name='AlertSilence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(blank=True, choices=[('database_away', 'database away'), ('redis_away', 'Redis away'), ('not_delivering', 'no job is delivered'), ('late_delivery', 'jobs may be late'), ('breaker_open', 'receiver down'), ('overdue', 'jobs overdue'), ('dead', 'jobs die')], help_text='Empty: all kinds.', max_length=40, verbose_name='kind')),
                ('biz_type_id', models.BigIntegerField(blank=True, help_text='0: the site itself; empty: the site and all biz types.', null=True, verbose_name='biz type id')),
                ('began_at', models.DateTimeField(verbose_name='began at')),
                ('until', models.DateTimeField(verbose_name='until')),
                ('by', models.CharField(max_length=150, verbose_name='by')),
                ('reason', models.CharField(max_length=500, verbose_name='reason')),
            ],
            options={
                'verbose_name': 'silence of alerts',
                'verbose_name_plural': 'silences of alerts',
                'db_table': 'delayhub_alert_silence',
                'ordering': ['until', 'id'],
            },
        ),
    ]
