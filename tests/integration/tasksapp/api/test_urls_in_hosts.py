"""The API in projects of others: in bare ones, and where REST framework and drf-spectacular are set up otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.api.http.served import UNCACHED
from tests.integration.tasksapp.api.host_project import PREFIX, Host, asked_of_a_host

PROBLEM = "application/problem+json"
BEARER = {"authorization": "Bearer {key}"}
REQUESTS: list[tuple[str, str, dict[str, str]]] = [
    ("GET", "schema", BEARER),
    ("GET", "schema", {}),
    ("GET", "docs/", {}),
    ("GET", "docs/swagger-ui-bundle.js", {}),
    ("GET", "v1/jobs", BEARER),
    ("GET", "v1/nothing", BEARER),
    ("POST", "v1/jobs/", BEARER),
    ("GET", "v1/jobs", {**BEARER, "host": "elsewhere.example"}),
    ("GET", "answer", {}),
    ("POST", "v1/jobs", BEARER),
]
#: Without django.contrib.auth, REST framework wants to be told that there are no users.
NO_USERS: dict[str, Any] = {"UNAUTHENTICATED_USER": None}
BARE: dict[str, Any] = {}
OWN_WAY: dict[str, Any] = {
    "INSTALLED_APPS": [
        "django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "drf_spectacular", "tasksapp",
    ],
    "REST_FRAMEWORK": {
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.BrowsableAPIRenderer"],
        "DEFAULT_FILTER_BACKENDS": ["rest_framework.filters.SearchFilter"],
        "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
        "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
        "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.NamespaceVersioning",
        "EXCEPTION_HANDLER": "no.such.handler",
    },
    "SPECTACULAR_SETTINGS": {
        "TITLE": "The host's",
        "CAMELIZE_NAMES": True,
        "SCHEMA_PATH_PREFIX_INSERT": "/inserted",
        "PREPROCESSING_HOOKS": ["drf_spectacular.hooks.preprocess_exclude_path_format"],
        "POSTPROCESSING_HOOKS": ["drf_spectacular.contrib.djangorestframework_camel_case.camelize_serializer_fields"],
        "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=[pytest.param(BARE, id="bare"), pytest.param(OWN_WAY, id="own-way")])
def host(request: pytest.FixtureRequest) -> Host:
    """What the project said."""
    return asked_of_a_host(request.param, REQUESTS)


def test_the_schema_has_our_operations_and_none_of_the_hosts(host: Host) -> None:
    schema = host.answers[0]

    assert (schema.status, schema.headers["Content-Type"]) == (200, "application/vnd.oai.openapi+json")
    document = schema.json()
    assert document["info"]["title"] == "DelayHub"
    assert {path.split("/")[2] for path in document["paths"]} == {
        *("jobs", "resolve", "claims", "series", "biz-types", "biz-type-definitions", "operations"),
        *("audit", "health", "issues", "key", "keys", "stats"),
    }
    assert "/v1/jobs" in document["paths"]
    assert document["servers"][0]["url"] == PREFIX.rstrip("/")
    assert "biz_type" in document["components"]["schemas"]["JobRequest"]["properties"]
    assert "payroll" not in schema.body.lower()


def test_the_schema_is_not_for_everybody(host: Host) -> None:
    refused = host.answers[1]

    assert (refused.status, refused.headers["Content-Type"]) == (401, PROBLEM)
    assert "/v1/jobs" not in refused.body


def test_the_docs_page_needs_no_setting(host: Host) -> None:
    page, script = host.answers[2:4]

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert 'src="swagger-ui-bundle.js"' in page.body
    assert (script.status, script.headers["Content-Type"]) == (200, "text/javascript")


def test_the_page_of_answer_links_needs_no_setting(host: Host) -> None:
    page = host.answers[8]

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "<h1" in page.body


def test_calls_are_answered_in_our_way(host: Host) -> None:
    assert host.answers[4].status == 200
    assert host.answers[4].json() == {"next": None, "results": []}


def test_answers_say_that_they_are_not_to_be_stored(host: Host) -> None:
    assert [host.answers[number].headers["Cache-Control"] for number in (4, 8)] == [UNCACHED, UNCACHED]


@pytest.mark.parametrize("number", [5, 6])
def test_an_address_below_the_version_that_is_not_there_is_a_problem_without_a_handler(host: Host, number: int) -> None:
    missing = host.answers[number]

    assert (missing.status, missing.headers["Content-Type"]) == (404, PROBLEM)


def test_a_check_says_what_to_write_for_errors_that_come_to_no_view(host: Host) -> None:
    wrong_host = host.answers[7]
    (hint,) = [hint for found, hint in host.checks if found == "delayhub.W010"]

    assert (wrong_host.status, wrong_host.headers["Content-Type"][:9]) == (400, "text/html")
    assert 'handler400 = "tasksapp.api.http.problems.bad_request"' in hint


def test_with_the_handlers_a_wrong_host_is_a_problem_and_the_check_is_content() -> None:
    host = asked_of_a_host({"ROOT_URLCONF": "tests.integration.tasksapp.api.host_urls_with_handlers"}, REQUESTS)

    wrong_host = host.answers[7]
    assert (wrong_host.status, wrong_host.headers["Content-Type"]) == (400, PROBLEM)
    assert wrong_host.json()["type"] == f"{PREFIX}problems/unknown_host"
    assert [found for found, _ in host.checks if found == "delayhub.W010"] == []


def test_authentication_and_permissions_of_the_project_decide_on_calls_and_on_the_schema() -> None:
    headers: list[dict[str, str]] = [{"x-shop": "open"}, {"x-shop": "closed"}, BEARER]
    host = asked_of_a_host(
        {"ROOT_URLCONF": "tests.integration.tasksapp.api.host_urls_with_authentication", "REST_FRAMEWORK": NO_USERS},
        [("GET", address, sent) for address in ("v1/jobs", "schema") for sent in headers],
    )

    assert [answer.status for answer in host.answers] == [200, 403, 401] * 2
    assert {answer.headers["Content-Type"] for answer in host.answers if answer.status > 400} == {PROBLEM}
    assert host.answers[2].headers["WWW-Authenticate"] == "Shop"
    assert "OpenApiAuthenticationExtension" not in host.complaints, "operators can do nothing about that"
