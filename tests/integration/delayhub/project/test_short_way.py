"""Creates pass middleware by, and their callers see no difference."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client

from delayhub.project.short_way import CREATES, ShortWay

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", sorted(CREATES))
def test_a_refused_create_looks_the_same_on_both_ways(client: Client, settings: Any, path: str) -> None:
    short = client.post(path, b"{}", content_type="application/json")

    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.endswith("ShortWay")]
    long = Client().post(path, b"{}", content_type="application/json")

    assert short.status_code == long.status_code == 401
    assert short.content == long.content
    assert dict(short.headers) == dict(long.headers)


@pytest.mark.parametrize("path", sorted(CREATES))
def test_a_create_for_another_host_is_refused(client: Client, settings: Any, path: str) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]

    answer = client.post(path, b"{}", content_type="application/json", headers={"host": "elsewhere.example"})

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/jobs"),  # reads
        ("POST", "/api/v1/jobs/"),  # no such address
        ("POST", "/api/v1/jobs/bulk/cancel"),  # a verb of a job
    ],
)
def test_all_else_goes_on_to_the_other_middleware(method: str, path: str) -> None:
    request = HttpRequest()
    request.method, request.path_info = method, path
    further = HttpResponse()

    assert ShortWay(lambda _: further)(request) is further
