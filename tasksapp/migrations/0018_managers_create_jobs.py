"""Managers may create jobs, which they could do by the REST API only, and not at all."""

from importlib import import_module
from typing import Any

from django.db import migrations

_groups = import_module("tasksapp.migrations.0008_access")


def allow_creating(apps: Any, schema_editor: Any) -> None:
    """Adds the permission to the group that a migration made, unless it was deleted or renamed."""
    using = schema_editor.connection.alias
    add_job = _groups._permissions(apps, using=using)["add_job"]
    for group in apps.get_model("auth", "Group").objects.using(using).filter(name="DelayHub manager"):
        group.permissions.add(add_job)


class Migration(migrations.Migration):
    dependencies = [("tasksapp", "0017_pull"), *_groups._ACCOUNTS]

    operations = (
        [_groups.WhereGroupsAre(allow_creating, migrations.RunPython.noop, elidable=False)] if _groups._HAS_ACCOUNTS else []
    )
