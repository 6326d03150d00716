"""Who passes the middleware for browsers by: the REST API, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import override_script_prefix
from django.urls import include, path

from delayhub.project import urls as project_urls
from delayhub.project.browser_middleware import SessionMiddleware, api_prefixes

pytestmark = pytest.mark.django_db


def test_a_form_without_its_token_is_refused_and_a_call_of_the_api_needs_none() -> None:
    strict = Client(enforce_csrf_checks=True)

    assert strict.post("/admin/login/", {"username": "x", "password": "y"}).status_code == 403
    assert strict.post("/api/v1/jobs", b"{}", content_type="application/json").status_code == 401


def test_a_session_opens_the_admin_and_the_api_and_costs_those_with_a_key_nothing(
    admin_client: Any, django_assert_num_queries: Any
) -> None:
    assert admin_client.get("/admin/").status_code == 200
    assert admin_client.get("/api/v1/jobs").status_code == 200

    with django_assert_num_queries(0):  # no session is read
        refused = admin_client.get("/api/v1/jobs", headers={"authorization": "Basic eDp5"})
    assert refused.status_code == 401


def test_the_api_keeps_the_headers_that_protect_its_readers(client: Client) -> None:
    answer = client.post("/api/v1/jobs", b"{}", content_type="application/json")

    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert "Cookie" not in answer.get("Vary", "")


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs/bulk"])
def test_a_create_for_another_host_is_refused(client: Client, settings: Any, path: str) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]

    answer = client.post(path, b"{}", content_type="application/json", headers={"host": "elsewhere.example"})

    assert answer.status_code == 400


def marking(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware of an operator: marks every answer."""

    def mark(request: HttpRequest) -> HttpResponse:
        answer = get_response(request)
        answer["X-Seen"] = request.path_info
        return answer

    return mark


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs/bulk"])
def test_a_middleware_that_an_operator_adds_sees_creates(client: Client, settings: Any, path: str) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.marking"]

    answer = client.post(path, b"{}", content_type="application/json")

    assert answer["X-Seen"] == path


class Elsewhere:
    """Addresses of an operator who has the API below another prefix."""

    urlpatterns = [path("admin/", admin.site.urls), path("timeouts/", include("tasksapp.api.urls"))]


class WithoutApi:
    """Addresses of an operator who has the admin only."""

    urlpatterns = [path("admin/", admin.site.urls)]


@pytest.mark.parametrize(
    ("urls", "script", "prefixes"),
    [
        (project_urls, "/", ("/api/v1/",)),  # the ready-made project
        (project_urls, "/delayhub/", ("/api/v1/",)),  # the same, where the web server has it below a path
        (Elsewhere, "/", ("/timeouts/v1/",)),
        (WithoutApi, "/", ()),
    ],
)
def test_the_api_is_where_the_url_conf_has_it(settings: Any, urls: Any, script: str, prefixes: tuple[str, ...]) -> None:
    settings.ROOT_URLCONF = urls

    with override_script_prefix(script):
        assert api_prefixes() == prefixes


def test_a_path_that_only_the_web_server_names_is_refused_with_what_to_do(settings: Any) -> None:
    passed = SessionMiddleware(lambda _: HttpResponse())

    with override_script_prefix("/hub/"):
        with pytest.raises(ImproperlyConfigured, match="below /hub/: let DELAYHUB_SITE_URL end with that path"):
            passed(RequestFactory().get("/readyz"))
        settings.FORCE_SCRIPT_NAME = "/hub"
        assert passed(RequestFactory().get("/readyz")).status_code == 200


def test_an_api_below_another_prefix_has_no_session_either(settings: Any) -> None:
    settings.ROOT_URLCONF = Elsewhere
    strict = Client(enforce_csrf_checks=True)

    refused = strict.post("/timeouts/v1/jobs", b"{}", content_type="application/json")

    assert refused.status_code == 401
    assert not hasattr(refused.wsgi_request, "session")
    assert hasattr(strict.get("/admin/login/").wsgi_request, "session")
