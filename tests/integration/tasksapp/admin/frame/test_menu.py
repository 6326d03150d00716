"""The menu has what the site has and the person may see."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import RequestFactory

from tasksapp.admin.frame.menu import menu

pytestmark = pytest.mark.django_db


def labels(user: Any, path: str) -> tuple[list[str], list[str]]:
    request = RequestFactory().get(path)
    request.user = user
    found = menu(request)
    return [str(entry.label) for entry in found], [str(entry.label) for entry in found if entry.is_here]


def test_a_superuser_has_all_pages_and_the_one_that_is_shown_is_marked(admin_user: Any) -> None:
    names, here = labels(admin_user, "/admin/tasksapp/job/01a1fcb9/change/")

    assert names[:7] == ["Overview", "Issues", "Alerts", "Jobs", "Series", "Operations", "Biz types"]
    assert here == ["Jobs"]
    assert labels(admin_user, "/admin/tasksapp/")[1] == ["Overview"]
    assert labels(admin_user, "/admin/auth/user/")[1] == []


def test_a_person_has_the_pages_that_they_may_see(django_user_model: Any) -> None:
    viewer = django_user_model.objects.create_user("vera")
    assert labels(viewer, "/admin/") == ([], [])

    viewer.user_permissions.add(Permission.objects.get(codename="view_job"))
    viewer = django_user_model.objects.get(pk=viewer.pk)
    assert labels(viewer, "/admin/")[0] == ["Overview", "Issues", "Alerts", "Jobs"]
