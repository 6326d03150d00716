"""Tenants, what an API key may do, owners of biz types, and alerts."""

import django.core.validators
import django.db.models.deletion
import tasksapp.models.api_key
from django.db import migrations, models
from tasksapp.models.tenant import ensure_default_tenant


def make_default_tenant(apps, schema_editor):
    """Makes the tenant that the keys and biz types so far belong to."""
    ensure_default_tenant(apps.get_model("tasksapp", "Tenant"), using=schema_editor.connection.alias)


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0011_texts'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tenant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=100, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9._-]{0,99}\\Z', "Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit.")], verbose_name='code')),
                ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
            ],
            options={
                'verbose_name': 'tenant',
                'verbose_name_plural': 'tenants',
                'db_table': 'delayhub_tenant',
                'ordering': ['code'],
            },
        ),
        migrations.RunPython(make_default_tenant, migrations.RunPython.noop, elidable=False),
        migrations.AddField(
            model_name='apikey',
            name='biz_type_ids',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Only these; empty: all of its tenant.', verbose_name='biz types'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='expires_at',
            field=models.DateTimeField(blank=True, help_text='Empty: never.', null=True, verbose_name='expires at'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='last_used_from',
            field=models.GenericIPAddressField(blank=True, null=True, verbose_name='last used from'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='owner',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who answers for its use.', max_length=200, verbose_name='owner'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='previous_hashed_key',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=128),
        ),
        migrations.AddField(
            model_name='apikey',
            name='previous_prefix',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=16),
        ),
        migrations.AddField(
            model_name='apikey',
            name='previous_until',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='scopes',
            field=models.JSONField(db_default=['jobs:read', 'jobs:write', 'jobs:act', 'biz_types:read'], default=tasksapp.models.api_key.usual_scopes, verbose_name='scopes'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='version',
            field=models.PositiveIntegerField(db_default=1, default=1, editable=False, help_text='Grows with each change of what it may do.', verbose_name='version'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='owner_mail',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who is told when something is wrong: mail addresses, with commas between them.', max_length=500, verbose_name="owner's mail"),
        ),
        migrations.AddField(
            model_name='biztype',
            name='owner_url',
            field=models.CharField(blank=True, db_default='', default='', help_text='http:// or https://, where such messages are posted too.', max_length=2000, verbose_name="owner's webhook"),
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=40, verbose_name='kind')),
                ('biz_type_id', models.BigIntegerField(default=0, help_text='0: the whole site.', verbose_name='biz type id')),
                ('began_at', models.DateTimeField(verbose_name='began at')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('sentence', models.CharField(max_length=500, verbose_name='what is wrong')),
                ('facts', models.JSONField(blank=True, default=dict, verbose_name='facts')),
                ('told_at', models.DateTimeField(blank=True, null=True, verbose_name='told at')),
                ('recovery_told_at', models.DateTimeField(blank=True, null=True, verbose_name='recovery told at')),
                ('failed_sends', models.PositiveIntegerField(default=0, verbose_name='failed sends')),
                ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'db_table': 'delayhub_alert',
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('kind', 'biz_type_id'), name='delayhub_alert_open_once')],
            },
        ),
        migrations.AddField(
            model_name='apikey',
            name='tenant',
            field=models.ForeignKey(db_default=1, default=1, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasksapp.tenant', verbose_name='tenant'),
        ),
        migrations.AddField(
            model_name='biztype',
            name='tenant',
            field=models.ForeignKey(db_default=1, default=1, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasksapp.tenant', verbose_name='tenant'),
        ),
    ]
