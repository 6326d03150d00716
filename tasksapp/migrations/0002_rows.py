"""What a new site has in its tables: the default tenant, groups of people; and how PostgreSQL keeps what changes often."""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.conf import settings
from django.db import migrations, router
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

from tasksapp.models.tenant import ensure_default_tenant

VIEWER = ["view_job", "view_attempt", "view_biztype", "view_series", "view_operation", "view_auditentry"]
OPERATOR = [
    *VIEWER, "view_job_body", "run_now_job", "reschedule_job", "redrive_job", "pause_biztype", "test_biztype",
    "pause_series", "view_system", "view_celery_queue",
]
MANAGER = [
    *OPERATOR, "add_job", "cancel_job", "drop_job", "export_job", "add_biztype", "change_biztype", "delete_biztype",
    "change_biztype_secrets", "add_series", "change_series", "delete_series", "view_apikey", "add_apikey",
    "change_apikey", "delete_apikey", "view_tenant", "add_tenant", "change_tenant", "change_celery_queue",
]
GROUPS = {"DelayHub viewer": VIEWER, "DelayHub operator": OPERATOR, "DelayHub manager": MANAGER}

#: Room on the pages for the updates that every job gets, and a vacuum before they pile up.
STORAGE = {
    "delayhub_job": (
        "fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, "
        "autovacuum_vacuum_insert_scale_factor = 0.1"
    ),
    "delayhub_attempt": "autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05",
}


def tune_tables(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table, parameters in STORAGE.items():
            schema_editor.execute(f"ALTER TABLE {table} SET ({parameters})")


def make_default_tenant(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """For rows that the project's own migrations make; where this one was, the app makes it too."""
    ensure_default_tenant(apps.get_model("tasksapp", "Tenant"), using=schema_editor.connection.alias)


def make_groups(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Makes the groups that do not exist yet, and leaves the others as people made them."""
    using = schema_editor.connection.alias
    permissions = _permissions(apps, using=using)
    group = apps.get_model("auth", "Group")
    for name, codenames in GROUPS.items():
        made, is_new = group.objects.using(using).get_or_create(name=name)
        if is_new:
            made.permissions.set([permissions[codename] for codename in codenames])


def _permissions(apps: Any, *, using: str) -> dict[str, int]:
    """The ids of the app's permissions by name. Django makes them after all migrations, which is too late here."""
    from django.contrib.auth.management import create_permissions  # it has models, which some projects do not

    config = apps.get_app_config("tasksapp")
    # The app as migrations know it has no module of models, without which Django makes nothing.
    config.models_module = True
    try:
        create_permissions(config, apps=apps, verbosity=0, using=using)
    finally:
        config.models_module = None
    rows = apps.get_model("auth", "Permission").objects.using(using).filter(content_type__app_label="tasksapp")
    return dict(rows.values_list("codename", "id"))


class WhereGroupsAre(migrations.RunPython):
    """Runs in the database that has the groups, which in some projects is another one than the jobs are in."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        from_state.clear_delayed_apps_cache()
        if router.allow_migrate(schema_editor.connection.alias, "auth", model_name="group"):
            self.code(from_state.apps, schema_editor)


#: A project that has the API only may have no accounts, and then it has no groups either.
_HAS_ACCOUNTS = installed.is_installed("django.contrib.auth")
_ACCOUNTS: list[Any] = [
    migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ("auth", "0012_alter_user_first_name_max_length"),
    ("contenttypes", "0002_remove_content_type_name"),
] if _HAS_ACCOUNTS else []


class Migration(migrations.Migration):
    dependencies = [("tasksapp", "0001_tables"), *_ACCOUNTS]

    operations = [
        migrations.RunPython(tune_tables, migrations.RunPython.noop),
        migrations.RunPython(make_default_tenant, migrations.RunPython.noop),
        *([WhereGroupsAre(make_groups, migrations.RunPython.noop)] if _HAS_ACCOUNTS else []),
    ]
