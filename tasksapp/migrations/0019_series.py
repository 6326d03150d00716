"""Series: jobs that repeat, and who may see, change and pause them."""

from importlib import import_module
from typing import Any

import datetime
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


_groups = import_module("tasksapp.migrations.0008_access")
#: What these rights include from now on.
INCLUDED = {
    "view_job": ["view_series"],
    "reschedule_job": ["pause_series"],
    "change_biztype": ["add_series", "change_series", "delete_series"],
}


def allow_series(apps: Any, schema_editor: Any) -> None:
    """Lets those who see jobs see series, those who move jobs pause them, and those who change biz types change them."""
    using = schema_editor.connection.alias
    permissions = _groups._permissions(apps, using=using)
    for groups, column in _groups._holders(apps):
        for held, included in INCLUDED.items():
            _groups._hand_on(groups, column, permissions[held], [permissions[name] for name in included], using=using)


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0018_managers_create_jobs"),
        *_groups._ACCOUNTS,
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='occurrence_at',
            field=models.DateTimeField(blank=True, help_text='Which of its series; empty: triggered by hand.', null=True, verbose_name='occurrence at'),
        ),
        migrations.CreateModel(
            name='Series',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(help_text='Unique in its biz type.', max_length=100, verbose_name='name')),
                ('declared_by', models.CharField(blank=True, default='', editable=False, help_text='The task in code that declares it; empty: a person or a program made it.', max_length=250, verbose_name='declared by')),
                ('cron', models.CharField(blank=True, help_text='Five fields such as 0 9 * * 1-5, or six with seconds.', max_length=200, verbose_name='cron')),
                ('time_zone', models.CharField(default='UTC', help_text='That of the cron expression, such as Asia/Shanghai.', max_length=64, verbose_name='time zone')),
                ('every', models.DurationField(blank=True, help_text='In the place of cron: an interval.', null=True, verbose_name='every')),
                ('anchor', models.DateTimeField(blank=True, help_text='One of the times that the interval leads to.', null=True, verbose_name='anchor')),
                ('times', models.JSONField(blank=True, default=list, help_text='In the place of cron: a JSON list of times in ISO 8601.', verbose_name='times')),
                ('starts_at', models.DateTimeField(blank=True, help_text='None is due before.', null=True, verbose_name='starts at')),
                ('ends_at', models.DateTimeField(blank=True, help_text='None is due after.', null=True, verbose_name='ends at')),
                ('count', models.PositiveIntegerField(blank=True, help_text='It ends after so many.', null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='count')),
                ('jitter', models.DurationField(default=datetime.timedelta(0), help_text='Jobs are due up to so much later, so that not all start at once.', verbose_name='jitter')),
                ('overlap', models.CharField(choices=[('start', 'start all the same'), ('skip', 'skip the new one'), ('cancel', 'cancel the live one')], default='start', help_text='What happens when one is due and the one before has not finished.', max_length=6, verbose_name='overlap')),
                ('catch_up', models.CharField(choices=[('none', 'none'), ('latest', 'the latest'), ('all', 'all, up to 1,000')], default='latest', help_text='Which of those are run that were missed while nothing worked.', max_length=6, verbose_name='catch-up')),
                ('biz_id', models.CharField(blank=True, max_length=200, verbose_name='biz id')),
                ('body', models.TextField(default='null', help_text='The exact JSON text that is signed and sent.', verbose_name='body')),
                ('priority', models.PositiveSmallIntegerField(blank=True, help_text='0 goes first, 9 last.', null=True, validators=[django.core.validators.MaxValueValidator(9)], verbose_name='priority')),
                ('max_attempts', models.PositiveIntegerField(blank=True, help_text='Empty: as the biz type says.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='max attempts')),
                ('paused_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='paused at')),
                ('paused_by', models.CharField(blank=True, default='', editable=False, max_length=150, verbose_name='paused by')),
                ('pause_reason', models.CharField(blank=True, default='', editable=False, max_length=500, verbose_name='pause reason')),
                ('made', models.PositiveIntegerField(default=0, editable=False, help_text='Occurrences made so far.', verbose_name='made')),
                ('next_occurrence_at', models.DateTimeField(blank=True, editable=False, help_text='The first that is not made yet.', null=True, verbose_name='next occurrence at')),
                ('make_at', models.DateTimeField(blank=True, editable=False, help_text='When maintenance makes more.', null=True, verbose_name='make at')),
                ('live_job', models.UUIDField(blank=True, editable=False, help_text='Claimed and not finished, retries included.', null=True, verbose_name='live job')),
                ('waiting_job', models.UUIDField(blank=True, editable=False, help_text='It begins when the live one has ended.', null=True, verbose_name='waiting job')),
                ('version', models.PositiveIntegerField(default=1, editable=False, verbose_name='version')),
                ('changed_by', models.CharField(blank=True, default='', editable=False, max_length=150, verbose_name='changed by')),
                ('created_at', models.DateTimeField(editable=False, verbose_name='created at')),
                ('updated_at', models.DateTimeField(editable=False, verbose_name='updated at')),
                ('biz_type', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='series', to='tasksapp.biztype', verbose_name='biz type')),
            ],
            options={
                'verbose_name': 'series',
                'verbose_name_plural': 'series',
                'db_table': 'delayhub_series',
                'permissions': [('pause_series', 'Can pause, resume and trigger series')],
            },
        ),
        migrations.AddField(
            model_name='job',
            name='series',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The series that it is one of.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='jobs', to='tasksapp.series', verbose_name='series'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('series__isnull', False)), fields=['series', 'id'], name='delayhub_job_series'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('occurrence_at__isnull', False)), fields=('series', 'occurrence_at'), name='delayhub_job_occurrence'),
        ),
        migrations.AddIndex(
            model_name='series',
            index=models.Index(condition=models.Q(('make_at__isnull', False)), fields=['make_at', 'id'], name='delayhub_series_make_at'),
        ),
        migrations.AddIndex(
            model_name='series',
            index=models.Index(condition=models.Q(('live_job__isnull', False)), fields=['id'], name='delayhub_series_live'),
        ),
        migrations.AddConstraint(
            model_name='series',
            constraint=models.UniqueConstraint(fields=('biz_type', 'name'), name='delayhub_series_name_once'),
        ),
        *([_groups.WhereGroupsAre(allow_series, migrations.RunPython.noop)] if _groups._HAS_ACCOUNTS else []),
    ]
