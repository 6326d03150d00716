"""Business keys that are resolved, one live job of each biz id, and follow-ups."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0019_series"),
    ]

    operations = [
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('biz_id', models.CharField(max_length=200, verbose_name='biz id')),
                ('at', models.DateTimeField(verbose_name='resolved at')),
                ('until', models.DateTimeField(db_index=True, help_text='Jobs created before do not fire.', verbose_name='until')),
                ('by', models.CharField(blank=True, db_default='', default='', max_length=150, verbose_name='by')),
            ],
            options={
                'verbose_name': 'tombstone',
                'verbose_name_plural': 'tombstones',
                'db_table': 'delayhub_tombstone',
            },
        ),
        migrations.AddField(
            model_name='biztype',
            name='debounce_max_wait',
            field=models.DurationField(blank=True, help_text='Requests with a debounce key put a job off so long.', null=True, verbose_name='longest debounce'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='has_tombstones',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Business keys of it were resolved; set by the first.', verbose_name='has tombstones'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='on_dead',
            field=models.CharField(blank=True, db_default='', default='', help_text="A biz type's code: a job of it is made when one of these is dead.", max_length=100, verbose_name='after a death'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='on_success',
            field=models.CharField(blank=True, db_default='', default='', help_text="A biz type's code: a job of it is made when one of these has succeeded.", max_length=100, verbose_name='after a success'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='one_live',
            field=models.CharField(choices=[('any', 'any number'), ('refuse', 'one: refuse others'), ('answer', 'one: answer with it'), ('replace', 'one: replace it')], db_default='any', default='any', help_text='For jobs created from now on.', max_length=10, verbose_name='live jobs of a biz id'),
        ),
        migrations.AddField(
            model_name='job',
            name='expires_at',
            field=models.DateTimeField(blank=True, help_text='No attempt begins from then on, unless it is redriven.', null=True, verbose_name='expires at'),
        ),
        migrations.AddField(
            model_name='job',
            name='live_key',
            field=models.CharField(blank=True, editable=False, help_text='Its biz id, where its biz type keeps one live job of each.', max_length=200, null=True, verbose_name='live key'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('live_key__isnull', False), ('status__in', ['pending', 'running'])), fields=('biz_type', 'live_key'), name='delayhub_job_one_live'),
        ),
        migrations.AddField(
            model_name='tombstone',
            name='biz_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type'),
        ),
        migrations.AddConstraint(
            model_name='tombstone',
            constraint=models.UniqueConstraint(fields=('biz_type', 'biz_id'), name='delayhub_tombstone_once'),
        ),
    ]
