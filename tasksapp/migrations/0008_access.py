"""Indexes of the audit, groups for people, and the new permissions for those who had the rights before."""

from __future__ import annotations

from typing import Any

from django.apps import apps as installed
from django.conf import settings
from django.core.exceptions import FieldDoesNotExist
from django.db import migrations, models, router
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

VIEWER = ["view_job", "view_attempt", "view_biztype", "view_operation", "view_auditentry"]
OPERATOR = [
    *VIEWER, "view_job_body", "run_now_job", "reschedule_job", "redrive_job", "pause_biztype", "test_biztype",
    "view_system", "view_celery_queue",
]
MANAGER = [
    *OPERATOR, "cancel_job", "drop_job", "add_biztype", "change_biztype", "delete_biztype", "change_biztype_secrets",
    "view_apikey", "add_apikey", "change_apikey", "delete_apikey", "change_celery_queue",
]
GROUPS = {"DelayHub viewer": VIEWER, "DelayHub operator": OPERATOR, "DelayHub manager": MANAGER}

#: What the right to one thing included until now, and is a permission of its own from now on.
INCLUDED = {
    "view_job": ["view_job_body"],
    "change_job": [
        "view_job_body", "run_now_job", "reschedule_job", "redrive_job", "cancel_job", "drop_job",
    ],
    "change_biztype": ["pause_biztype", "change_biztype_secrets"],
}


def make_groups(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Makes the groups that do not exist yet, and hands on the rights that people and groups have already."""
    using = schema_editor.connection.alias
    permissions = _permissions(apps, using=using)
    for groups, column in _holders(apps):
        for held, included in INCLUDED.items():
            _hand_on(groups, column, permissions[held], [permissions[name] for name in included], using=using)
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


def _holders(apps: Any) -> list[tuple[Any, str]]:
    """The tables that say who has which permission, each with the column of who has it."""
    fields = [apps.get_model("auth", "Group")._meta.get_field("permissions")]
    try:
        fields.append(apps.get_model(settings.AUTH_USER_MODEL)._meta.get_field("user_permissions"))
    except FieldDoesNotExist:
        pass  # the project's users have their rights from elsewhere
    return [(field.remote_field.through, f"{field.m2m_field_name()}_id") for field in fields]


def _hand_on(table: Any, column: str, held: int, included: list[int], *, using: str) -> None:
    # By the table itself: other columns of the project's users may come and go in migrations that are not made yet.
    rows = table._base_manager.using(using)
    holders = list(rows.filter(permission_id=held).values_list(column, flat=True))
    new = [table(**{column: holder, "permission_id": permission}) for holder in holders for permission in included]
    rows.bulk_create(new, ignore_conflicts=True)


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
    dependencies = [
        ("tasksapp", "0007_operations_and_numbers"),
        *_ACCOUNTS,
    ]

    operations = [
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["actor", "id"], name="delayhub_audit_actor"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["verb", "id"], name="delayhub_audit_verb"),
        ),
        *([WhereGroupsAre(make_groups, migrations.RunPython.noop)] if _HAS_ACCOUNTS else []),
    ]
