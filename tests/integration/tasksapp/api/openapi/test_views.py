"""Who may see the OpenAPI document."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from tasksapp.api.http.served import UNCACHED
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.openapi.views import MEDIA_TYPE
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db

SCHEMA = "/api/schema"


def test_callers_see_it_and_nobody_keeps_it(client: Client, key: str) -> None:
    answer = client.get(SCHEMA, headers={"authorization": f"Bearer {key}"})

    assert (answer.status_code, answer["Content-Type"], answer["Cache-Control"]) == (200, MEDIA_TYPE, UNCACHED)
    assert answer.json()["servers"][0]["url"] == "/api"


def test_people_in_the_admin_see_it_without_a_key(admin_client: Client) -> None:
    assert admin_client.get(SCHEMA).status_code == 200


@pytest.mark.parametrize("rights", [{"is_staff": False}, {"is_staff": True, "is_active": False}])
def test_other_users_of_the_project_do_not(client: Client, django_user_model: Any, rights: dict[str, bool]) -> None:
    client.force_login(django_user_model.objects.create_user("shopper", password="x", **rights))

    problem(client.get(SCHEMA), 401)


@pytest.mark.parametrize("authorization", ["", "Bearer dh_wrong"])
def test_without_a_right_key_it_is_refused_as_any_call_is(client: Client, authorization: str) -> None:
    answer = client.get(SCHEMA, headers={"authorization": authorization})

    problem(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_permission_of_the_project_decides_on_callers(
    client: Client, admin_client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OnlyReaders(BasePermission):
        def has_permission(self, request: Request, view: Any) -> bool:
            return bool(view.action == "list")

    monkeypatch.setattr(ApiViewSet, "permission_classes", [OnlyReaders])

    problem(Client().get(SCHEMA, headers={"authorization": f"Bearer {key}"}), 403)
    assert admin_client.get(SCHEMA).status_code == 200


def test_with_a_setting_everybody_sees_it(client: Client, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "SCHEMA_ACCESS": "anyone"}

    assert client.get(SCHEMA).status_code == 200
    problem(client.get("/api/v1/jobs"), 401)


def test_it_can_only_be_read(ask: Ask, client: Client, key: str) -> None:
    answer = client.post(SCHEMA, headers={"authorization": f"Bearer {key}"})

    problem(answer, 405)
    assert "GET" in answer["Allow"]
