"""Business keys that are resolved."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0019_series"),
    ]

    operations = [
        migrations.AddField(
            model_name='biztype',
            name='has_tombstones',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Business keys of it were resolved; set by the first.', verbose_name='has tombstones'),
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('biz_id', models.CharField(max_length=200, verbose_name='biz id')),
                ('at', models.DateTimeField(verbose_name='resolved at')),
                ('until', models.DateTimeField(db_index=True, help_text='Jobs created before do not fire.', verbose_name='until')),
                ('by', models.CharField(blank=True, db_default='', default='', max_length=150, verbose_name='by')),
                ('biz_type', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tasksapp.biztype', verbose_name='biz type')),
            ],
            options={
                'verbose_name': 'tombstone',
                'verbose_name_plural': 'tombstones',
                'db_table': 'delayhub_tombstone',
                'constraints': [models.UniqueConstraint(fields=('biz_type', 'biz_id'), name='delayhub_tombstone_once')],
            },
        ),
    ]
