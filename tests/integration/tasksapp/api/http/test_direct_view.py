"""A direct view asks the view set's authentication, permissions and throttles, as REST framework's dispatch does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from tasksapp.access.callers import Caller
from tasksapp.api.http.direct_view import direct_view
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.views import JobViews
from tasksapp.models import ApiKey, BizType, Job

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "delay": 60}
CREATES = [
    pytest.param("/jobs", JOB, "create", id="one"),
    pytest.param("/jobs/bulk", {"jobs": [JOB]}, "bulk", id="bulk"),
]


@pytest.mark.parametrize(("path", "body", "action"), CREATES)
def test_a_permission_of_the_view_set_decides_on_creates(
    ask: Any, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, action: str
) -> None:
    asked = []

    class Never(BasePermission):
        def has_permission(self, request: Request, view: Any) -> bool:
            asked.append((request.user, request.method, view.action))
            return False

    monkeypatch.setattr(ApiViewSet, "permission_classes", [Never])
    answer = ask("POST", path, body)

    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert asked == [(Caller("caller", ApiKey.objects.get().pk), "POST", action)]
    assert not Job.objects.exists()


@pytest.mark.parametrize(("path", "body", "action"), CREATES)
def test_another_authentication_of_the_view_set_knows_the_callers_of_creates(
    ask: Any, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, action: str
) -> None:
    class ByHeader(BaseAuthentication):
        def authenticate(self, request: Request) -> tuple[Caller, None]:
            if name := request.headers.get("X-Caller"):
                return Caller(name, 1), None
            raise AuthenticationFailed("who are you?")

        def authenticate_header(self, request: Request) -> str:
            return "Caller"

    monkeypatch.setattr(JobViews, "authentication_classes", [ByHeader])

    # the API key, which was enough before
    refused = ask("POST", path, body)
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Caller")
    assert json.loads(refused.content)["type"] == "/api/problems/unauthorized"
    assert not Job.objects.exists()
    assert ask("POST", path, body, **{"x-caller": "shop"}).status_code == 201


@pytest.mark.parametrize(("path", "body", "action"), CREATES)
def test_a_throttle_of_the_view_set_counts_creates(
    ask: Any, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, action: str
) -> None:
    class OneOnly(BaseThrottle):
        seen = 0

        def allow_request(self, request: Request, view: Any) -> bool:
            OneOnly.seen += 1
            return OneOnly.seen == 1

        def wait(self) -> float:
            return 1.5

    monkeypatch.setattr(JobViews, "throttle_classes", [OneOnly])

    assert ask("POST", path, body).status_code == 201
    refused = ask("POST", path, body)
    assert (refused.status_code, refused["Retry-After"]) == (429, "2")
    assert json.loads(refused.content)["type"] == "/api/problems/throttled"


def test_other_methods_are_the_view_sets_and_callers_without_a_key_come_to_neither() -> None:
    def create(request: HttpRequest) -> HttpResponse:
        raise AssertionError(request)

    view = direct_view(create, view=JobViews.as_view({"get": "list", "post": "create"}))

    assert view(RequestFactory().put("/jobs")).status_code == 401
    assert view(RequestFactory().get("/jobs")).status_code == 401
    assert view(RequestFactory().post("/jobs")).status_code == 401


def test_creates_need_no_login_where_the_project_wants_one_for_every_page(
    client: Client, key: str, biz_type: BizType, settings: Any
) -> None:
    settings.MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]

    answer = client.post(
        "/api/v1/jobs", JOB, content_type="application/json", headers={"authorization": f"Bearer {key}"}
    )

    assert answer.status_code == 201
