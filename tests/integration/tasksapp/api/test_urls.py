"""The API below another prefix, in a project that has a page called "schema" of its own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import include, path, resolve, reverse

from tasksapp.api.http import problems
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db(transaction=True)

PREFIX = "/internal/delay/"
PROBLEM = "application/problem+json"


def own_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("the host's own schema")


@pytest.fixture
def headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(autouse=True)
def _mounted(settings: Any) -> None:
    root = ModuleType("addresses_of_a_host")
    root.__dict__["urlpatterns"] = [
        path("internal/delay/", include("tasksapp.api.urls")),
        path("schema-of-the-host", own_page, name="schema"),
    ]
    root.__dict__["handler404"] = problems.page_not_found
    settings.ROOT_URLCONF = root


def test_a_created_job_is_at_the_location_that_the_answer_names(
    client: Client, headers: dict[str, str], biz_type: BizType
) -> None:
    job = {"biz_type": "order.close", "delay": 60}

    made = client.post(f"{PREFIX}v1/jobs", job, content_type="application/json", headers=headers)

    assert made["Location"] == f"{PREFIX}v1/jobs/{made.json()['id']}"
    assert made["Location"] == reverse("delayhub:job-detail", args=[made.json()["id"]])
    assert resolve(made["Location"]).view_name == "delayhub:job-detail"
    assert client.get(made["Location"], headers=headers).json()["id"] == made.json()["id"]


def test_the_location_begins_with_what_the_web_server_strips(
    client: Client, headers: dict[str, str], biz_type: BizType
) -> None:
    made = client.post(
        f"{PREFIX}v1/jobs", {"biz_type": "order.close"}, content_type="application/json", headers=headers,
        SCRIPT_NAME="/shop",
    )  # fmt: skip

    assert made["Location"] == f"/shop{PREFIX}v1/jobs/{made.json()['id']}"


def test_an_address_below_the_prefix_that_is_not_there_is_a_problem_and_others_are_pages(client: Client) -> None:
    assert client.get(f"{PREFIX}v1/nothing")["Content-Type"] == PROBLEM
    assert client.get("/api/v1/nothing")["Content-Type"].startswith("text/html")
    assert client.get("/nothing")["Content-Type"].startswith("text/html")


def test_a_failure_below_the_prefix_is_a_problem_and_others_are_pages() -> None:
    assert problems.server_error(RequestFactory().get(f"{PREFIX}v1/jobs"))["Content-Type"] == PROBLEM
    assert problems.server_error(RequestFactory().get("/api/v1/jobs"))["Content-Type"].startswith("text/html")


def test_a_project_without_the_api_has_pages_only(settings: Any) -> None:
    root = ModuleType("addresses_without_the_api")
    root.__dict__["urlpatterns"] = []
    settings.ROOT_URLCONF = root

    assert problems.server_error(RequestFactory().get("/api/v1/jobs"))["Content-Type"].startswith("text/html")


def test_names_of_the_api_are_none_of_the_hosts(client: Client) -> None:
    assert reverse("schema") == "/schema-of-the-host"
    assert reverse("delayhub:schema") == f"{PREFIX}schema"
    assert reverse("delayhub:docs") == f"{PREFIX}docs/"
