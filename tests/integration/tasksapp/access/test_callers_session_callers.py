"""What a user of Django may do at the API comes from the user's permissions."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User

from tasksapp.access.callers import SessionCaller
from tasksapp.access.permissions import SCOPES
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("scope", list(Scope))
def test_a_scope_takes_all_its_permissions(scope: Scope) -> None:
    wanted = {name.split(".")[1] for name in SCOPES[scope]}
    permissions = list(Permission.objects.filter(codename__in=wanted, content_type__app_label="tasksapp"))
    assert len(permissions) == len(wanted)
    whole, lacking = (User.objects.create_user(name) for name in ("whole", "lacking"))
    whole.user_permissions.set(permissions)
    lacking.user_permissions.set(permissions[1:])

    assert scope in SessionCaller(whole).scopes
    assert scope not in SessionCaller(lacking).scopes


def test_a_viewer_reads_no_bodies_by_the_api_and_an_operator_does() -> None:
    viewer, operator, manager = (User.objects.create_user(name) for name in ("viewer", "operator", "manager"))
    for user in (viewer, operator, manager):
        user.groups.add(Group.objects.get(name=f"DelayHub {user.username}"))

    assert SessionCaller(viewer).scopes == {Scope.BIZ_TYPES_READ}
    assert SessionCaller(operator).scopes == {*(Scope.BIZ_TYPES_READ, Scope.JOBS_READ, Scope.JOBS_BODY, Scope.STATS)}
    assert SessionCaller(manager).scopes == set(Scope)


def test_it_is_its_user_to_everybody_else_and_belongs_to_the_default_tenant() -> None:
    ada = User.objects.create_superuser("ada")

    caller = SessionCaller(ada)

    assert (caller.name, str(caller), caller.pk, caller.tenant_id) == ("ada", "ada", ada.pk, DEFAULT_TENANT)
    assert (caller.is_authenticated, caller.is_staff, caller.is_anonymous) == (True, True, False)
    assert caller.has_perm("tasksapp.add_job")
    assert caller.scopes == set(Scope)
    assert (caller.biz_type_ids, caller.key_id) == (None, None)


def test_an_attribute_of_its_user_names_no_tenant() -> None:
    ada = User.objects.create_superuser("ada")
    ada.tenant_id, ada.biz_type_ids = 7, frozenset({8})  # type: ignore[attr-defined]  # a project's own

    caller = SessionCaller(ada)

    assert (caller.tenant_id, caller.biz_type_ids) == (DEFAULT_TENANT, None)


@pytest.mark.parametrize("user", [AnonymousUser(), object(), "a project's own user"])
def test_a_user_without_permissions_may_do_nothing(user: object) -> None:
    assert SessionCaller(user).scopes == frozenset()
