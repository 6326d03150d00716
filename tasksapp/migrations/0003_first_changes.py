"""Scopes are written as the paths of the API are, ``biz-types:read``; keys and biz types know where their tenant is; alerts are silenced; jobs keep an order; tenants have quotas; managers export jobs; people answer by links."""

from importlib import import_module

import django.core.validators
import django.db.models.deletion
import tasksapp.models.api_key
from django.db import migrations, models

first_rows = import_module("tasksapp.migrations.0002_first_rows")


def renamed(before, after):
    def rename(apps, schema_editor):
        keys = apps.get_model("tasksapp", "ApiKey").objects.using(schema_editor.connection.alias)
        for key in keys.only("scopes"):
            scopes = [after + scope.removeprefix(before) if scope.startswith(before) else scope for scope in key.scopes]
            if scopes != key.scopes:
                keys.filter(pk=key.pk).update(scopes=scopes)

    return rename


def let_managers_export(apps, schema_editor):
    """Those of the group that the migration before made; where somebody deleted it, nobody."""
    group = apps.get_model("auth", "Group").objects.using(schema_editor.connection.alias).filter(name="DelayHub manager")
    for managers in group:
        managers.permissions.add(first_rows._permissions(apps, using=schema_editor.connection.alias)["export_job"])


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
                ('kind', models.CharField(blank=True, choices=[('database_away', 'database away'), ('redis_away', 'Redis away'), ('not_delivering', 'no job is delivered'), ('late_delivery', 'jobs may be late'), ('breaker_open', 'receiver down'), ('overdue', 'jobs overdue'), ('key_blocked', 'flow keys blocked'), ('certificate_ends', 'certificate ends'), ('certificate_over', 'certificate has ended'), ('unreadable', 'no key to decrypt'), ('dead', 'jobs die'), ('no_follow_up', 'no job follows')], help_text='Empty: all kinds.', max_length=40, verbose_name='kind')),
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
        migrations.CreateModel(
            name='OrderedKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('flow_key', models.CharField(max_length=100, verbose_name='flow key')),
                ('place', models.BigIntegerField(verbose_name='place')),
                ('begun', models.UUIDField(null=True, verbose_name='begun')),
                ('begun_due_at', models.DateTimeField(null=True, verbose_name='due at')),
                ('begun_at', models.DateTimeField(null=True, verbose_name='began at')),
            ],
            options={
                'verbose_name': 'ordered flow key',
                'verbose_name_plural': 'ordered flow keys',
                'db_table': 'delayhub_ordered_key',
            },
        ),
        migrations.AddField(
            model_name='biztype',
            name='ordered',
            field=models.CharField(choices=[('no', 'no'), ('dead_blocks', 'yes: a dead one blocks'), ('dead_lets_go', 'yes: a dead one lets go')], db_default='no', default='no', help_text='For jobs created from now on.', max_length=12, verbose_name='in order per flow key'),
        ),
        migrations.AlterField(
            model_name='biztype',
            name='auth',
            field=models.CharField(choices=[('none', 'none'), ('basic', 'Basic (user:password)'), ('bearer', 'Bearer (token)'), ('oauth2', 'OAuth2 (client credentials)'), ('oauth2_form', 'OAuth2 (client credentials, in the form)')], default='none', max_length=12, verbose_name='auth'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='token_url',
            field=models.CharField(blank=True, db_default='', default='', help_text='Where OAuth2 access tokens are asked for.', max_length=2000, verbose_name='token address'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='client_id',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who asks for them.', max_length=500, verbose_name='client id'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='token_fields',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='What else is asked, a JSON object of texts: {"scope": "orders"}.', verbose_name='token fields'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='masked_fields',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='JSON Pointers into bodies, such as /card/number: receivers get these values, all others get a mask.', verbose_name='masked fields'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='client_certificate_sealed',
            field=models.TextField(blank=True, db_default='', default='', editable=False, verbose_name='client certificate'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='certificate_subject',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=500, verbose_name="certificate's subject"),
        ),
        migrations.AddField(
            model_name='biztype',
            name='certificate_ends_at',
            field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='certificate ends at'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='ca_bundle',
            field=models.TextField(blank=True, db_default='', default='', help_text='Certificates in PEM of those who vouch for the receiver, in place of those the system trusts.', verbose_name='CA bundle'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='encrypted',
            field=models.BooleanField(db_default=False, default=False, help_text='What its jobs carry, and what is answered and said about them, is encrypted in the database.', verbose_name='encrypted'),
        ),
        migrations.AddField(
            model_name='job',
            name='place',
            field=models.BigIntegerField(blank=True, help_text='Its place among the jobs of its flow key; empty: in no order.', null=True, verbose_name='place'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('place__isnull', False), ('status__in', ['pending', 'running', 'dead'])), fields=['biz_type', 'flow_key', 'due_at', 'place'], name='delayhub_job_place'),
        ),
        migrations.AddField(
            model_name='orderedkey',
            name='biz_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type'),
        ),
        migrations.AddConstraint(
            model_name='orderedkey',
            constraint=models.UniqueConstraint(fields=('biz_type', 'flow_key'), name='delayhub_ordered_key_once'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='on_resolved',
            field=models.CharField(blank=True, db_default='', default='', help_text="A biz type's code: a job of it is made when one of these is resolved.", max_length=100, verbose_name='after an answer'),
        ),
        migrations.AddField(
            model_name='tombstone',
            name='answer',
            field=models.TextField(blank=True, db_default='', default='', help_text='What the answer says beside that, as JSON.', verbose_name='answer'),
        ),
        migrations.AddField(
            model_name='tombstone',
            name='answered_job',
            field=models.UUIDField(blank=True, help_text='The job that the answer was for; no other takes it.', null=True, verbose_name='answered job'),
        ),
        migrations.AddField(
            model_name='tombstone',
            name='outcome',
            field=models.CharField(blank=True, db_default='', default='', help_text='What was answered; empty: nothing.', max_length=100, verbose_name='outcome'),
        ),
        migrations.CreateModel(
            name='AnswerLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job_id', models.UUIDField(db_index=True, verbose_name='job id')),
                ('hashed_token', models.CharField(max_length=64, verbose_name='hashed token')),
                ('question', models.TextField(blank=True, db_default='', default='', verbose_name='question')),
                ('outcomes', models.JSONField(help_text='What may be answered.', verbose_name='outcomes')),
                ('given_to', models.CharField(max_length=100, verbose_name='given to')),
                ('expires_at', models.DateTimeField(verbose_name='expires at')),
                ('used_at', models.DateTimeField(blank=True, null=True, verbose_name='used at')),
                ('created_at', models.DateTimeField(verbose_name='created at')),
                ('created_by', models.CharField(blank=True, db_default='', default='', max_length=150, verbose_name='created by')),
                ('biz_type', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type')),
            ],
            options={
                'verbose_name': 'answer link',
                'verbose_name_plural': 'answer links',
                'db_table': 'delayhub_answer_link',
            },
        ),
        migrations.AddConstraint(
            model_name='answerlink',
            constraint=models.UniqueConstraint(fields=('hashed_token',), name='delayhub_answer_link_token'),
        ),
        migrations.CreateModel(
            name='MissingFollowUp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job_id', models.UUIDField(unique=True, verbose_name='job id')),
                ('at', models.DateTimeField(db_index=True, verbose_name='at')),
                ('biz_type', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type')),
            ],
            options={
                'verbose_name': 'missing follow-up',
                'verbose_name_plural': 'missing follow-ups',
                'db_table': 'delayhub_missing_follow_up',
            },
        ),
        migrations.AlterField(
            model_name='biztype',
            name='one_live',
            field=models.CharField(choices=[('any', 'any number'), ('refuse', 'one: refuse others'), ('answer', 'one: answer with it'), ('replace', 'one: replace it'), ('last', 'one runs: keep the last beside it')], db_default='any', default='any', help_text='For jobs created from now on.', max_length=10, verbose_name='live jobs of a biz id'),
        ),
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('database_away', 'database away'), ('redis_away', 'Redis away'), ('not_delivering', 'no job is delivered'), ('late_delivery', 'jobs may be late'), ('breaker_open', 'receiver down'), ('overdue', 'jobs overdue'), ('key_blocked', 'flow keys blocked'), ('certificate_ends', 'certificate ends'), ('certificate_over', 'certificate has ended'), ('unreadable', 'no key to decrypt'), ('dead', 'jobs die'), ('no_follow_up', 'no job follows')], max_length=40, verbose_name='kind'),
        ),
        migrations.AddField(
            model_name='tenant',
            name='most_pending_jobs',
            field=models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='most pending jobs'),
        ),
        migrations.AddField(
            model_name='tenant',
            name='most_pending_bytes',
            field=models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='most bytes of pending bodies'),
        ),
        migrations.AddField(
            model_name='tenant',
            name='most_series',
            field=models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='most series'),
        ),
        migrations.AddField(
            model_name='tenant',
            name='most_biz_types',
            field=models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='most biz types'),
        ),
        migrations.AddField(
            model_name='tenant',
            name='most_api_keys',
            field=models.PositiveBigIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000000000000)], verbose_name='most API keys'),
        ),
        migrations.CreateModel(
            name='TenantCount',
            fields=[
                ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='counted', serialize=False, to='tasksapp.tenant')),
                ('pending_jobs', models.BigIntegerField()),
                ('pending_bytes', models.BigIntegerField(help_text='Of their bodies; estimated where they are many.')),
                ('series', models.BigIntegerField()),
                ('biz_types', models.BigIntegerField()),
                ('api_keys', models.BigIntegerField()),
                ('counted_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'delayhub_tenant_count',
            },
        ),
        migrations.AlterModelOptions(
            name='job',
            options={'permissions': [('view_job_body', 'Can see bodies of jobs and answers of receivers'), ('export_job', 'Can export jobs with their bodies'), ('run_now_job', 'Can run jobs now'), ('reschedule_job', 'Can move jobs to another time and edit waiting ones'), ('redrive_job', 'Can redrive dead jobs'), ('cancel_job', 'Can cancel jobs'), ('drop_job', 'Can drop dead jobs')], 'verbose_name': 'job', 'verbose_name_plural': 'jobs'},
        ),
        *([first_rows.WhereGroupsAre(let_managers_export, migrations.RunPython.noop)] if first_rows._HAS_ACCOUNTS else []),
    ]
