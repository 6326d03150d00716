"""The groups that a migration makes, and what those who had rights before have after it."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from tasksapp.access import permissions
from tasksapp.access.permissions import VERBS, may
from tasksapp.models.api_key import Scope

BEFORE, AFTER = ("tasksapp", "0007_operations_and_numbers"), ("tasksapp", "0008_access")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def names(group: str) -> set[str]:
    found = Group.objects.get(name=group).permissions.values_list("content_type__app_label", "codename")
    return {f"{app}.{name}" for app, name in found}


def as_it_was_before(migrate: Any) -> None:
    """The database of a site before the migration, without the permissions that are new."""
    migrate(BEFORE)
    Group.objects.all().delete()
    Permission.objects.filter(content_type__app_label="tasksapp").delete()
    ContentType.objects.filter(app_label="tasksapp").delete()
    ContentType.objects.clear_cache()


def test_a_first_migrate_makes_groups_with_permissions_that_exist_by_then(migrate: Any) -> None:
    as_it_was_before(migrate)

    migrate(AFTER)

    viewer, operator, manager = (names(f"DelayHub {name}") for name in ("viewer", "operator", "manager"))
    assert viewer < operator < manager
    assert {"tasksapp.view_job", "tasksapp.view_biztype"} <= viewer
    assert permissions.VIEW_BODY not in viewer
    assert not {name for name in viewer if not name.startswith("tasksapp.view_")}
    assert {VERBS["run_now"], VERBS["redrive"], permissions.PAUSE, permissions.VIEW_BODY} <= operator
    assert {VERBS["cancel"], VERBS["drop"], permissions.CHANGE_SECRETS, "tasksapp.change_biztype"}.isdisjoint(operator)
    assert {VERBS["cancel"], VERBS["drop"], permissions.CHANGE_SECRETS, "tasksapp.add_apikey"} <= manager


def test_managers_may_create_jobs_by_rest_and_other_groups_stay_as_they_are(migrate: Any) -> None:
    migrate(("tasksapp", "0016_tenants"))
    manager, viewer = (Group.objects.get_or_create(name=f"DelayHub {name}")[0] for name in ("manager", "viewer"))
    held = [Permission.objects.get(codename=name.split(".")[1]) for name in permissions.SCOPES[Scope.JOBS_WRITE][1:]]
    manager.permissions.add(*held)

    migrate(("tasksapp", "0018_managers_create_jobs"))

    assert set(permissions.SCOPES[Scope.JOBS_WRITE]) <= names(manager.name)
    assert "tasksapp.add_job" not in names(viewer.name)


def test_who_could_change_jobs_before_can_still_do_everything_to_them(migrate: Any) -> None:
    as_it_was_before(migrate)
    call_command("migrate", "tasksapp", BEFORE[1], verbosity=0)  # makes the permissions as a site had them
    change = Permission.objects.get(codename="change_job")
    Permission.objects.filter(codename__in=[name.split(".")[1] for name in VERBS.values()]).delete()
    team = Group.objects.create(name="on call")
    team.permissions.add(change)
    ada, bob = (User.objects.create_user(name) for name in ("ada", "bob"))
    ada.user_permissions.add(change)
    bob.groups.add(team)
    eve = User.objects.create_user("eve")

    migrate(AFTER)

    for user in (ada, bob):
        assert all(may(User.objects.get(pk=user.pk), verb) for verb in VERBS if verb != "backfill")  # that is of series
        assert User.objects.get(pk=user.pk).has_perm(permissions.VIEW_BODY)
    assert not any(may(User.objects.get(pk=eve.pk), verb) for verb in VERBS)


def test_what_a_person_made_of_a_group_stays(migrate: Any) -> None:
    as_it_was_before(migrate)
    Group.objects.create(name="DelayHub viewer")

    migrate(AFTER)
    Group.objects.get(name="DelayHub operator").delete()
    call_command("migrate", verbosity=0)

    assert names("DelayHub viewer") == set()
    assert not Group.objects.filter(name="DelayHub operator").exists()


def test_where_groups_are_in_another_database_none_are_made_here(migrate: Any, settings: Any) -> None:
    as_it_was_before(migrate)
    settings.DATABASE_ROUTERS = [f"{__name__}.NoAuthHere"]

    migrate(AFTER)

    assert not Group.objects.exists()


class NoAuthHere:
    """A router of a project whose users are elsewhere."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if app_label == "auth" else None
