"""The admin site that a request came to."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.urls import resolve

from tasksapp.admin.frame.requests import site_name, site_of


@pytest.mark.urls("tests.integration.tasksapp.admin.second_site")
@pytest.mark.parametrize("name", ["admin", "second"])
def test_a_page_belongs_to_the_site_that_was_asked(name: str) -> None:
    request = RequestFactory().get(f"/{name}/tasksapp/job/")
    request.resolver_match = resolve(request.path)

    found = site_of(request)

    assert found.name == name


def test_a_page_that_says_its_site_belongs_to_it_and_one_without_an_address_to_the_usual_one() -> None:
    request = RequestFactory().get("/")
    assert site_name(request) == "admin"

    request.current_app = "second"  # type: ignore[attr-defined]  # Django sets it so
    assert site_name(request) == "second"
