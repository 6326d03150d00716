"""Codes are unique within a tenant; what a biz type has in Redis keeps its name; an operation is a tenant's."""

from importlib import import_module
from typing import Any

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


def keep_names(apps, schema_editor):
    """Timers that wait in Redis are there under the codes of their biz types: those stay their names."""
    biz_types = apps.get_model("tasksapp", "BizType")._default_manager.using(schema_editor.connection.alias)
    biz_types.filter(queue_name="").update(queue_name=models.F("code"))


_groups = import_module("tasksapp.migrations.0008_access")
#: What the right to issue keys includes from now on: keys belong to tenants.
INCLUDED = {"add_apikey": ["view_tenant", "add_tenant", "change_tenant"]}


def allow_tenants(apps: Any, schema_editor: Any) -> None:
    """Lets people and groups who issue keys add and rename tenants."""
    using = schema_editor.connection.alias
    permissions = _groups._permissions(apps, using=using)
    for groups, column in _groups._holders(apps):
        for held, included in INCLUDED.items():
            _groups._hand_on(groups, column, permissions[held], [permissions[name] for name in included], using=using)


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0015_alerts'),
        *_groups._ACCOUNTS,
    ]

    operations = [
        migrations.AddField(
            model_name='biztype',
            name='queue_name',
            field=models.CharField(blank=True, db_default='', default='', editable=False, help_text='Names its timers in Redis, also after a change of the code. Empty: the code does.', max_length=120, verbose_name='queue name'),
        ),
        migrations.AddField(
            model_name='operation',
            name='biz_type_ids',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Only these; empty: all of its tenant.', verbose_name='biz type ids'),
        ),
        migrations.AddField(
            model_name='operation',
            name='tenant',
            field=models.ForeignKey(blank=True, db_default=1, db_index=False, default=1, help_text='Empty: jobs of all tenants.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasksapp.tenant', verbose_name='tenant'),
        ),
        migrations.AlterField(
            model_name='biztype',
            name='code',
            field=models.CharField(help_text='What callers name it by.', max_length=100, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9._-]{0,99}\\Z', "Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit.")], verbose_name='code'),
        ),
        migrations.AlterField(
            model_name='biztype',
            name='tenant',
            field=models.ForeignKey(db_default=1, default=1, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tasksapp.tenant', verbose_name='tenant'),
        ),
        migrations.RunPython(keep_names, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name='biztype',
            constraint=models.UniqueConstraint(fields=('tenant', 'code'), name='delayhub_biz_type_code_once', violation_error_message='The tenant has a biz type of this code already.'),
        ),
        migrations.AddConstraint(
            model_name='biztype',
            constraint=models.UniqueConstraint(condition=models.Q(('queue_name', ''), _negated=True), fields=('queue_name',), name='delayhub_biz_type_queue_once'),
        ),
        *([_groups.WhereGroupsAre(allow_tenants, migrations.RunPython.noop)] if _groups._HAS_ACCOUNTS else []),
    ]
