"""Names and help texts of tables and columns: no statement is run."""

import datetime
import django.core.validators
import django.db.models.deletion
import tasksapp.models.job_id
from django.db import migrations, models


class Texts(migrations.SeparateDatabaseAndState):
    """Changes of the state only. Without rendered models each takes microseconds; with them all took seconds."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0010_numbers'),
    ]

    operations = [
        Texts(
            state_operations=[
                migrations.AlterModelOptions(
                    name='apikey',
                    options={'ordering': ['name'], 'verbose_name': 'API key', 'verbose_name_plural': 'API keys'},
                ),
                migrations.AlterModelOptions(
                    name='attempt',
                    options={'ordering': ['job', 'number'], 'verbose_name': 'attempt', 'verbose_name_plural': 'attempts'},
                ),
                migrations.AlterModelOptions(
                    name='biztype',
                    options={'ordering': ['code'], 'permissions': [('pause_biztype', 'Can pause and resume biz types'), ('test_biztype', 'Can send test callbacks'), ('change_biztype_secrets', 'Can change the secrets of biz types')], 'verbose_name': 'biz type', 'verbose_name_plural': 'biz types'},
                ),
                migrations.AlterModelOptions(
                    name='job',
                    options={'permissions': [('view_job_body', 'Can see bodies of jobs and answers of receivers'), ('run_now_job', 'Can run jobs now'), ('reschedule_job', 'Can move jobs to another time and edit waiting ones'), ('redrive_job', 'Can redrive dead jobs'), ('cancel_job', 'Can cancel jobs'), ('drop_job', 'Can drop dead jobs')], 'verbose_name': 'job', 'verbose_name_plural': 'jobs'},
                ),
                migrations.AlterModelOptions(
                    name='operation',
                    options={'ordering': ['-id'], 'verbose_name': 'operation', 'verbose_name_plural': 'operations'},
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='created_at',
                    field=models.DateTimeField(auto_now_add=True, verbose_name='created at'),
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='enabled',
                    field=models.BooleanField(default=True, verbose_name='enabled'),
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='hashed_key',
                    field=models.CharField(max_length=128, verbose_name='hashed key'),
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='last_used_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='last used at'),
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='name',
                    field=models.CharField(max_length=200, unique=True, verbose_name='name'),
                ),
                migrations.AlterField(
                    model_name='apikey',
                    name='prefix',
                    field=models.CharField(help_text='How the key begins; finds the row.', max_length=16, unique=True, verbose_name='prefix'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='duration_ms',
                    field=models.PositiveIntegerField(verbose_name='duration ms'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='error',
                    field=models.CharField(blank=True, help_text='Why it failed; empty where it did not.', max_length=500, verbose_name='error'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='lateness_ms',
                    field=models.BigIntegerField(help_text='From when it should have begun to when it did.', verbose_name='lateness ms'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='number',
                    field=models.PositiveIntegerField(help_text='Counts all attempts of the job; never restarts.', verbose_name='number'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='request_headers',
                    field=models.JSONField(blank=True, db_default={}, default=dict, help_text='As sent, secrets masked.', verbose_name='request headers'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='request_line',
                    field=models.TextField(blank=True, db_default='', default='', help_text='Method and address, as sent.', verbose_name='request line'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='response_body',
                    field=models.TextField(blank=True, verbose_name='response body'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='response_headers',
                    field=models.JSONField(blank=True, default=dict, verbose_name='response headers'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='started_at',
                    field=models.DateTimeField(verbose_name='started at'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='status_code',
                    field=models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='status code'),
                ),
                migrations.AlterField(
                    model_name='attempt',
                    name='worker',
                    field=models.CharField(blank=True, max_length=200, verbose_name='worker'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='actor',
                    field=models.CharField(help_text='ada, api:checkout, op 17, or receiver.', max_length=150, verbose_name='actor'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='address',
                    field=models.GenericIPAddressField(blank=True, help_text='Where the request came from.', null=True, verbose_name='address'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='after',
                    field=models.JSONField(blank=True, default=dict, verbose_name='after'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='at',
                    field=models.DateTimeField(db_index=True, verbose_name='at'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='before',
                    field=models.JSONField(blank=True, default=dict, verbose_name='before'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='biz_type_id',
                    field=models.BigIntegerField(blank=True, null=True, verbose_name='biz type id'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='job_id',
                    field=models.UUIDField(blank=True, null=True, verbose_name='job id'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='operation_id',
                    field=models.BigIntegerField(blank=True, null=True, verbose_name='operation id'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='reason',
                    field=models.CharField(blank=True, max_length=500, verbose_name='reason'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='verb',
                    field=models.CharField(max_length=40, verbose_name='verb'),
                ),
                migrations.AlterField(
                    model_name='auditentry',
                    name='what',
                    field=models.CharField(blank=True, help_text='The name of what was changed, as it was then.', max_length=200, verbose_name='what'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='auth',
                    field=models.CharField(choices=[('none', 'none'), ('basic', 'Basic (user:password)'), ('bearer', 'Bearer (token)')], default='none', max_length=10, verbose_name='auth'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='auth_secret_sealed',
                    field=models.TextField(blank=True, editable=False, verbose_name='auth secret'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff',
                    field=models.CharField(choices=[('fixed', 'fixed'), ('linear', 'linear'), ('exponential', 'exponential'), ('list', 'list of seconds')], default='exponential', max_length=12, verbose_name='backoff'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff_factor',
                    field=models.FloatField(default=2.0, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)], verbose_name='backoff factor'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff_list',
                    field=models.JSONField(blank=True, default=list, help_text='Seconds before each retry; the last repeats.', verbose_name='backoff list'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff_max_doublings',
                    field=models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(32)], verbose_name='backoff max doublings'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff_max_seconds',
                    field=models.FloatField(default=3600.0, validators=[django.core.validators.MinValueValidator(0)], verbose_name='backoff max seconds'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='backoff_min_seconds',
                    field=models.FloatField(default=10.0, validators=[django.core.validators.MinValueValidator(0)], verbose_name='backoff min seconds'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='code',
                    field=models.CharField(help_text='What callers name it by.', max_length=100, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9._-]{0,99}\\Z', "Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit.")], verbose_name='code'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='created_at',
                    field=models.DateTimeField(auto_now_add=True, verbose_name='created at'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='delivery_burst',
                    field=models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)], verbose_name='delivery burst'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='delivery_rate',
                    field=models.FloatField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0.001)], verbose_name='delivery rate'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='description',
                    field=models.TextField(blank=True, verbose_name='description'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='enabled',
                    field=models.BooleanField(default=True, help_text='No jobs are taken while it is not, and none fire.', verbose_name='enabled'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='guarantee',
                    field=models.CharField(choices=[('at_least_once', 'at least once'), ('at_most_once', 'at most once')], default='at_least_once', max_length=15, verbose_name='guarantee'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='headers',
                    field=models.JSONField(blank=True, default=dict, help_text='Extra headers, a JSON object of strings.', verbose_name='headers'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='insert_burst',
                    field=models.PositiveIntegerField(default=100, validators=[django.core.validators.MinValueValidator(1)], verbose_name='insert burst'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='insert_rate',
                    field=models.FloatField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0.001)], verbose_name='insert rate'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='jitter',
                    field=models.FloatField(default=0.1, help_text='Up to this share is added to each backoff.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='jitter'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='lane',
                    field=models.CharField(default='delayhub.timers', help_text='Which workers serve it.', max_length=100, verbose_name='lane'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='max_age',
                    field=models.DurationField(blank=True, help_text='No attempt begins later after the due time.', null=True, verbose_name='max age'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='max_attempts',
                    field=models.PositiveIntegerField(default=16, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='max attempts'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='max_in_flight',
                    field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='max in flight'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='max_lateness',
                    field=models.DurationField(blank=True, help_text='Judged before the first attempt only.', null=True, verbose_name='max lateness'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='method',
                    field=models.CharField(choices=[('POST', 'POST'), ('PUT', 'PUT'), ('PATCH', 'PATCH')], default='POST', max_length=5, verbose_name='method'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='name',
                    field=models.CharField(blank=True, max_length=200, verbose_name='name'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='pause_reason',
                    field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=500, verbose_name='pause reason'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='paused_by',
                    field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=150, verbose_name='paused by'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='paused_until',
                    field=models.DateTimeField(blank=True, help_text='No jobs fire before; they wait.', null=True, verbose_name='paused until'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='permanent_status_codes',
                    field=models.JSONField(blank=True, default=list, help_text='Never retried, beside 410.', verbose_name='permanent status codes'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='previous_secret_until',
                    field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='previous secret until'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='previous_signing_secret_sealed',
                    field=models.TextField(blank=True, editable=False, verbose_name='previous signing secret'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='priority',
                    field=models.PositiveSmallIntegerField(default=5, help_text='0 goes first, 9 last.', validators=[django.core.validators.MaxValueValidator(9)], verbose_name='priority'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='resumed_at',
                    field=models.DateTimeField(blank=True, editable=False, null=True, verbose_name='resumed at'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='retention',
                    field=models.DurationField(blank=True, default=datetime.timedelta(days=30), help_text='Finished jobs are kept this long; empty: always.', null=True, verbose_name='retention'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='signing_secret_sealed',
                    field=models.TextField(blank=True, editable=False, verbose_name='signing secret'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='target',
                    field=models.CharField(choices=[('http', 'HTTP callback'), ('celery', 'Celery task')], default='http', max_length=10, verbose_name='target'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='task_name',
                    field=models.CharField(blank=True, help_text='The Celery task to run.', max_length=250, verbose_name='task name'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='task_queue',
                    field=models.CharField(blank=True, help_text="Its queue; empty for the task's own.", max_length=200, verbose_name='task queue'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='timeout_seconds',
                    field=models.FloatField(default=10.0, validators=[django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(600)], verbose_name='timeout seconds'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='updated_at',
                    field=models.DateTimeField(auto_now=True, verbose_name='updated at'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='url',
                    field=models.CharField(blank=True, help_text='http:// or https://, where callbacks go.', max_length=2000, verbose_name='URL'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='weight',
                    field=models.PositiveSmallIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='weight'),
                ),
                migrations.AlterField(
                    model_name='biztype',
                    name='when_late',
                    field=models.CharField(choices=[('fire', 'fire all the same'), ('skip', 'skip'), ('dead', 'declare dead')], default='fire', max_length=5, verbose_name='when late'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='attempt_base',
                    field=models.PositiveIntegerField(default=0, help_text='Attempts made before the last redrive.', verbose_name='attempt base'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='attempts',
                    field=models.PositiveIntegerField(default=0, help_text='All attempts ever made.', verbose_name='attempts'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='biz_id',
                    field=models.CharField(blank=True, max_length=200, verbose_name='biz id'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='biz_type',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='tasksapp.biztype', verbose_name='biz type'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='body',
                    field=models.TextField(help_text='The exact JSON text that is signed and sent.', verbose_name='body'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='changed_by',
                    field=models.CharField(blank=True, db_default='', default='', help_text='Who applied the last verb to it.', max_length=150, verbose_name='changed by'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='created_at',
                    field=models.DateTimeField(verbose_name='created at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='created_by',
                    field=models.CharField(blank=True, db_default='', default='', help_text="Who made it; empty: the project's own code.", max_length=150, verbose_name='created by'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='debounce_key',
                    field=models.CharField(blank=True, db_default='', default='', help_text='Held until a worker first takes the job.', max_length=200, verbose_name='debounce key'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='due_at',
                    field=models.DateTimeField(help_text='What the caller asked for.', verbose_name='due at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='error_class',
                    field=models.CharField(blank=True, db_default='', default='', help_text='The kind of last_error, such as http.503.', max_length=40, verbose_name='error class'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='finished_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='finished at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='id',
                    field=models.UUIDField(default=tasksapp.models.job_id.new_job_id, editable=False, primary_key=True, serialize=False, verbose_name='id'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='last_error',
                    field=models.CharField(blank=True, max_length=500, verbose_name='last error'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='lease_token',
                    field=models.BigIntegerField(blank=True, null=True, verbose_name='lease token'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='lease_until',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='lease until'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='max_attempts',
                    field=models.PositiveIntegerField(blank=True, help_text='Empty: as the biz type says.', null=True, verbose_name='max attempts'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='next_run_at',
                    field=models.DateTimeField(help_text='What the clock follows: the due time, or the next retry.', verbose_name='next run at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='operation_id',
                    field=models.BigIntegerField(blank=True, help_text='The operation that last changed it.', null=True, verbose_name='operation id'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='priority',
                    field=models.PositiveSmallIntegerField(default=5, verbose_name='priority'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='redriven_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='redriven at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='redrives',
                    field=models.PositiveIntegerField(db_default=0, default=0, help_text='How often it was redriven.', verbose_name='redrives'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='status',
                    field=models.CharField(choices=[('pending', 'pending'), ('running', 'running'), ('succeeded', 'succeeded'), ('cancelled', 'cancelled'), ('skipped', 'skipped'), ('dead', 'dead'), ('dropped', 'dropped')], default='pending', max_length=10, verbose_name='status'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='system_errors',
                    field=models.PositiveIntegerField(default=0, verbose_name='system errors'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='traceparent',
                    field=models.CharField(blank=True, help_text='W3C trace context of the request that made it.', max_length=55, verbose_name='traceparent'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='updated_at',
                    field=models.DateTimeField(verbose_name='updated at'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='version',
                    field=models.PositiveIntegerField(default=1, verbose_name='version'),
                ),
                migrations.AlterField(
                    model_name='job',
                    name='worker',
                    field=models.CharField(blank=True, max_length=200, verbose_name='worker'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='biz_type',
                    field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='operations', to='tasksapp.biztype', verbose_name='biz type'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='created_at',
                    field=models.DateTimeField(auto_now_add=True, verbose_name='created at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='cursor',
                    field=models.JSONField(blank=True, default=dict, help_text='Where the walk over the rows goes on.', verbose_name='cursor'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='dead',
                    field=models.PositiveIntegerField(default=0, help_text='Of the changed jobs: those that are dead since.', verbose_name='dead'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='done',
                    field=models.PositiveIntegerField(default=0, help_text='Jobs that the verb changed.', verbose_name='done'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='due_at',
                    field=models.DateTimeField(blank=True, help_text='The new time, of jobs that are rescheduled.', null=True, verbose_name='due at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='failed',
                    field=models.PositiveIntegerField(default=0, help_text='Attempts of the changed jobs that failed since.', verbose_name='failed'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='finished_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='finished at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='job_filter',
                    field=models.JSONField(help_text='Which jobs, as tasksapp.jobs.job_filter writes it.', verbose_name='job filter'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='left',
                    field=models.PositiveIntegerField(default=0, help_text='Jobs that had changed meanwhile and were left alone.', verbose_name='left'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='planned',
                    field=models.PositiveIntegerField(blank=True, help_text='Jobs that matched when it was planned.', null=True, verbose_name='planned'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='planned_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='planned at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='rate_per_second',
                    field=models.FloatField(blank=True, help_text='Jobs a second; empty: as fast as possible.', null=True, verbose_name='rate per second'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='reason',
                    field=models.CharField(blank=True, max_length=500, verbose_name='reason'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='started_at',
                    field=models.DateTimeField(blank=True, null=True, verbose_name='started at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='started_by',
                    field=models.CharField(help_text='The name, which stays when the account goes.', max_length=150, verbose_name='started by'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='state',
                    field=models.CharField(choices=[('planning', 'counting'), ('planned', 'waiting for its start'), ('running', 'running'), ('done', 'done'), ('stopped', 'stopped'), ('failed', 'failed')], default='planning', max_length=10, verbose_name='state'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='state_reason',
                    field=models.CharField(blank=True, help_text='Why it stopped or failed.', max_length=500, verbose_name='state reason'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='succeeded',
                    field=models.PositiveIntegerField(default=0, help_text='Of the changed jobs: those that succeeded since.', verbose_name='succeeded'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='trial_jobs',
                    field=models.PositiveIntegerField(default=0, help_text='So many go first; 0: no trial.', verbose_name='trial jobs'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='trial_percent',
                    field=models.PositiveSmallIntegerField(default=90, validators=[django.core.validators.MaxValueValidator(100)], verbose_name='trial percent'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='updated_at',
                    field=models.DateTimeField(auto_now=True, verbose_name='updated at'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='user_id',
                    field=models.CharField(blank=True, help_text="The account's primary key, as text.", max_length=64, null=True, verbose_name='user id'),
                ),
                migrations.AlterField(
                    model_name='operation',
                    name='verb',
                    field=models.CharField(choices=[('run_now', 'run now'), ('reschedule', 'reschedule'), ('redrive', 'redrive'), ('cancel', 'cancel'), ('drop', 'drop')], max_length=10, verbose_name='verb'),
                ),
                migrations.AlterModelOptions(
                    name='deadcount',
                    options={'verbose_name': 'issue', 'verbose_name_plural': 'issues'},
                ),
            ],
        ),
    ]
