"""A project of its own mounts the pages below a prefix."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import include, path

from tasksapp.health.readiness import readiness

pytestmark = pytest.mark.django_db

urlpatterns = [path("timeouts/", include("tasksapp.health.urls"))]


def test_another_project_has_them_below_its_prefix(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    readiness.forget()

    assert client.get("/timeouts/livez").json() == {"status": "ok"}
    answer = client.get("/timeouts/readyz")
    assert (answer.status_code, answer.json()["state"]) == (200, "no worker")
