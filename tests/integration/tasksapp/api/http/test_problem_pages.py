"""Each problem's ``type`` leads to a page for people, without a key."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from django.test import Client
from django.urls import include, path

from tasksapp.api.http.problem_types import PROBLEM_TYPES
from tasksapp.api.http.problems import Problem, problem_address


@pytest.mark.parametrize("code", sorted(PROBLEM_TYPES))
def test_the_type_of_every_problem_resolves_to_its_page(client: Client, code: str) -> None:
    address = Problem(code, "no").as_json()["type"]

    page = client.get(address)

    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert f"<code>{code}</code>" in page.content.decode()


def test_the_list_leads_to_every_page(client: Client) -> None:
    page = client.get("/api/problems/").content.decode()

    assert all(f'href="{code}"' in page for code in PROBLEM_TYPES)


def test_a_name_that_no_problem_has_is_a_page_too_and_shows_nothing_of_it(client: Client) -> None:
    page = client.get("/api/problems/<script>")

    assert page.status_code == 404
    assert "script" not in page.content.decode()


def test_a_page_is_only_read(client: Client) -> None:
    assert client.post("/api/problems/invalid").status_code == 405


def test_where_the_project_has_the_api_in_a_namespace_the_type_leads_there(settings: Any, client: Client) -> None:
    root: Any = ModuleType("addresses_of_a_shop_with_problems")
    shop: Any = ModuleType("addresses_of_its_delays")
    shop.urlpatterns, shop.app_name = [path("delay/", include("tasksapp.api.urls"))], "shop"
    root.urlpatterns = [path("shop/", include(shop))]
    settings.ROOT_URLCONF = root

    assert problem_address("invalid") == "/shop/delay/problems/invalid"
    assert client.get(problem_address("invalid")).status_code == 200


def test_where_the_place_of_the_api_depends_on_the_request_the_type_is_a_name(settings: Any) -> None:
    root: Any = ModuleType("addresses_of_many_tenants")
    root.urlpatterns = [path("<str:tenant>/delay/", include("tasksapp.api.urls"))]
    settings.ROOT_URLCONF = root

    assert problem_address("invalid") == "urn:delayhub:problem:invalid"
