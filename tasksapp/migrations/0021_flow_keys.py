"""Flow keys: whose jobs they are, limits for each, and those that are paused."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0020_resolve"),
    ]

    operations = [
        migrations.CreateModel(
            name='PausedKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('flow_key', models.CharField(max_length=100, verbose_name='flow key')),
                ('until', models.DateTimeField(verbose_name='paused until')),
                ('paused_at', models.DateTimeField(verbose_name='paused at')),
                ('paused_by', models.CharField(blank=True, db_default='', default='', max_length=150, verbose_name='paused by')),
                ('reason', models.CharField(blank=True, db_default='', default='', max_length=500, verbose_name='pause reason')),
            ],
            options={
                'verbose_name': 'paused flow key',
                'verbose_name_plural': 'paused flow keys',
                'db_table': 'delayhub_paused_key',
            },
        ),
        migrations.AddField(
            model_name='biztype',
            name='key_burst',
            field=models.PositiveIntegerField(db_default=1, default=1, validators=[django.core.validators.MinValueValidator(1)], verbose_name='burst per flow key'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='key_max_in_flight',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='max in flight per flow key'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='key_rate',
            field=models.FloatField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(0.001)], verbose_name='rate per flow key'),
        ),
        migrations.AddField(
            model_name='job',
            name='flow_key',
            field=models.CharField(blank=True, db_default='', default='', help_text='Whose job it is, such as a customer: keys of a biz type share it fairly.', max_length=100, verbose_name='flow key'),
        ),
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('flow_key__gt', '')), fields=['biz_type', 'flow_key', 'id'], name='delayhub_job_flow_key'),
        ),
        migrations.AddField(
            model_name='pausedkey',
            name='biz_type',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type'),
        ),
        migrations.AddConstraint(
            model_name='pausedkey',
            constraint=models.UniqueConstraint(fields=('biz_type', 'flow_key'), name='delayhub_paused_key_once'),
        ),
    ]
