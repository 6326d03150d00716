"""The admin site that a request came to."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from django.urls import resolve

from tasksapp.admin.sites import page_context, site_of

pytestmark = pytest.mark.django_db


@pytest.mark.urls("tests.integration.tasksapp.admin.second_site")
@pytest.mark.parametrize("name", ["admin", "second"])
def test_a_page_belongs_to_the_site_that_was_asked(name: str) -> None:
    request = RequestFactory().get(f"/{name}/tasksapp/job/")
    request.resolver_match = resolve(request.path)
    request.user = User.objects.create_superuser("ada")

    context = page_context(request, title="Jobs")

    assert site_of(request).name == name
    assert (context["title"], request.current_app) == ("Jobs", name)  # type: ignore[attr-defined]  # Django's own way
