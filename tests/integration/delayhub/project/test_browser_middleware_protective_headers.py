"""What browsers and caches may do with answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/admin/login/", "/api/docs/", "/api/v1/jobs", "/nowhere", "/livez"])
def test_every_answer_has_a_policy_that_allows_nothing_from_elsewhere(client: Client, path: str) -> None:
    policy = client.get(path)["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "script-src" not in policy, "scripts follow default-src, which allows none inside a page"
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/admin/", "/admin/tasksapp/job/", "/admin/tasksapp/biztype/add/", "/api/docs/"])
def test_no_page_has_a_script_in_itself(admin_client: Any, path: str) -> None:
    page = admin_client.get(path).content.decode()

    scripts = re.findall(r"<script\b([^>]*)>", page)
    assert [script for script in scripts if "src=" not in script and "application/json" not in script] == []
    assert re.findall(r"<[^>]*\son\w+=", page) == []


def test_an_answer_of_the_api_is_not_kept(client: Client) -> None:
    assert "no-store" in client.get("/api/v1/jobs")["Cache-Control"]
    assert "no-store" in client.post("/api/v1/jobs", b"{}", content_type="application/json")["Cache-Control"]
    assert "Cache-Control" not in client.get("/livez")


def test_only_the_docs_of_the_api_may_have_styles_in_the_page(admin_client: Any) -> None:
    assert "style-src 'self' 'unsafe-inline'" in admin_client.get("/api/docs/")["Content-Security-Policy"]
    for path in ("/admin/", "/admin/tasksapp/job/", "/nowhere"):
        assert "unsafe-inline" not in admin_client.get(path)["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["/admin/", "/admin/tasksapp/", "/admin/tasksapp/deadcount/", "/admin/login/", "/nowhere"]
)
def test_no_page_has_a_style_in_itself(admin_client: Any, path: str) -> None:
    page = admin_client.get(path).content.decode()

    assert "<style" not in page
    assert re.findall(r"<[^>]*\sstyle=", page) == []
