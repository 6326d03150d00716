"""Who passes the middleware for browsers by: the REST API, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

pytestmark = pytest.mark.django_db


def test_a_form_without_its_token_is_refused_and_a_call_of_the_api_needs_none() -> None:
    strict = Client(enforce_csrf_checks=True)

    assert strict.post("/admin/login/", {"username": "x", "password": "y"}).status_code == 403
    assert strict.post("/api/v1/jobs", b"{}", content_type="application/json").status_code == 401


def test_a_session_opens_the_admin_and_not_the_api(admin_client: Any) -> None:
    assert admin_client.get("/admin/").status_code == 200
    assert admin_client.get("/api/v1/jobs").status_code == 401


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
