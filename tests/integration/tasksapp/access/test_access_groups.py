"""The groups that a migration makes, and what they may do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from tasksapp.access import permissions
from tasksapp.access.permissions import VERBS, may
from tasksapp.models.api_key import Scope

pytestmark = pytest.mark.django_db(transaction=True)

#: Each permission with the lowest group that has it; those above have it too.
GRANTS = {
    # everybody sees all but bodies
    "view_job": "viewer",
    "view_attempt": "viewer",
    "view_biztype": "viewer",
    "view_series": "viewer",
    "view_operation": "viewer",
    "view_auditentry": "viewer",
    # whoever is on call sees more, and does what can be made good again
    "view_job_body": "operator",
    "view_system": "operator",
    "view_celery_queue": "operator",
    "run_now_job": "operator",
    "reschedule_job": "operator",
    "redrive_job": "operator",
    "pause_biztype": "operator",
    "test_biztype": "operator",
    "pause_series": "operator",
    # managers make and end things, and say who may what
    "add_job": "manager",
    "export_job": "manager",
    "cancel_job": "manager",
    "drop_job": "manager",
    "add_biztype": "manager",
    "change_biztype": "manager",
    "delete_biztype": "manager",
    "change_biztype_secrets": "manager",
    "add_series": "manager",
    "change_series": "manager",
    "delete_series": "manager",
    "view_apikey": "manager",
    "add_apikey": "manager",
    "change_apikey": "manager",
    "delete_apikey": "manager",
    "view_tenant": "manager",
    "add_tenant": "manager",
    "change_tenant": "manager",
    "change_celery_queue": "manager",
}
#: From the least to the most.
GROUPS = ["viewer", "operator", "manager"]


def names(group: str) -> set[str]:
    found = Group.objects.get(name=group).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{name}" for app, name in found}


def migrate_rows_again() -> None:
    call_command("migrate", "tasksapp", "0001_tables", verbosity=0)
    call_command("migrate", verbosity=0)


def test_a_first_migrate_makes_groups_with_permissions_that_exist_by_then() -> None:
    call_command("migrate", "tasksapp", "0001_tables", verbosity=0)
    Group.objects.all().delete()
    Permission.objects.filter(content_type__app_label="tasksapp").delete()
    ContentType.objects.filter(app_label="tasksapp").delete()
    ContentType.objects.clear_cache()

    call_command("migrate", verbosity=0)

    for height, group in enumerate(GROUPS):
        granted = {f"tasksapp.{name}" for name, lowest in GRANTS.items() if GROUPS.index(lowest) <= height}
        assert names(f"DelayHub {group}") == granted
    assert Group.objects.count() == 3


def test_managers_may_do_all_that_keys_may() -> None:
    user = User.objects.create_user("ada")
    user.groups.add(Group.objects.get(name="DelayHub manager"))

    assert all(may(user, verb) for verb in VERBS)
    assert user.has_perms([permission for scope in Scope for permission in permissions.SCOPES[scope]])


def test_what_a_person_made_of_a_group_stays() -> None:
    viewer = Group.objects.get(name="DelayHub viewer")
    viewer.permissions.set([Permission.objects.get(codename="cancel_job")])
    Group.objects.get(name="DelayHub operator").delete()

    call_command("migrate", verbosity=0)

    assert names("DelayHub viewer") == {VERBS["cancel"]}
    assert not Group.objects.filter(name="DelayHub operator").exists()


def test_a_group_of_that_name_that_was_there_first_stays_as_it_is() -> None:
    Group.objects.get(name="DelayHub viewer").permissions.clear()

    migrate_rows_again()

    assert names("DelayHub viewer") == set()


def test_where_groups_are_in_another_database_none_are_made_here(settings: Any) -> None:
    Group.objects.all().delete()
    settings.DATABASE_ROUTERS = [f"{__name__}.NoAuthHere"]

    migrate_rows_again()

    assert not Group.objects.exists()


class NoAuthHere:
    """A router of a project whose users are elsewhere."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if app_label == "auth" else None
