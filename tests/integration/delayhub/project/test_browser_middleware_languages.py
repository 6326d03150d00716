"""A person chooses a language; the API speaks English whatever is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import translation

pytestmark = pytest.mark.django_db

CHINESE = {"accept-language": "zh-CN,zh;q=0.9"}


@pytest.mark.parametrize(
    ("asked", "lang"),
    [("zh-CN,zh;q=0.9", "zh-hans"), ("en-GB", "en"), ("fr", "en"), ("nonsense;q=x", "en")],
)
def test_a_page_is_in_the_language_that_the_browser_asks_for(client: Client, asked: str, lang: str) -> None:
    page = client.get("/admin/login/", headers={"accept-language": asked})

    assert f'<html lang="{lang}"' in page.content.decode()
    assert page["Content-Language"] == lang


def test_the_menu_chooses_a_language_for_good_and_leads_back(admin_client: Client) -> None:
    first = admin_client.get("/admin/tasksapp/job/?q=a").content.decode()
    assert 'name="language" value="zh-hans"' in first
    assert 'value="/admin/tasksapp/job/?q=a"' in first

    chosen = admin_client.post("/language", {"language": "zh-hans", "next": "/admin/tasksapp/job/?q=a"})

    assert (chosen.status_code, chosen["Location"]) == (302, "/admin/tasksapp/job/?q=a")
    assert '<html lang="zh-hans"' in admin_client.get("/admin/").content.decode()


def test_it_leads_to_no_other_site_and_takes_no_get(client: Client) -> None:
    assert client.post("/language", {"language": "zh-hans", "next": "https://evil.example/"})["Location"] == "/"
    client.cookies.clear()
    client.get("/language", {"language": "zh-hans"})
    assert "django_language" not in client.cookies


def test_a_form_without_its_token_does_not_change_the_language() -> None:
    assert Client(enforce_csrf_checks=True).post("/language", {"language": "zh-hans"}).status_code == 403


def test_the_api_stays_english_and_does_not_vary_by_language(client: Client) -> None:
    client.get("/admin/login/", headers=CHINESE)

    answer = client.get("/api/v1/jobs", headers=CHINESE)

    assert "Send your API key" in answer.json()["detail"]
    assert "Content-Language" not in answer
    assert "Accept-Language" not in answer.get("Vary", "")


def test_a_request_leaves_no_language_to_the_next_one_of_its_thread(client: Client, settings: Any) -> None:
    client.get("/admin/login/", headers=CHINESE)

    assert translation.get_language() == settings.LANGUAGE_CODE
