"""API keys in the admin."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from tasksapp.access.keys import find_key
from tasksapp.models import ApiKey

pytestmark = pytest.mark.django_db


def add(person: Client, name: str, **buttons: str) -> Any:
    """The answer to the form for a new key."""
    return person.post(reverse("admin:tasksapp_apikey_add"), {"name": name, "enabled": "on", **buttons})


def key_on(page: str) -> str:
    """The key that a page shows."""
    (key,) = re.findall(r'<code id="new-api-key">([^<]+)</code>', page)
    return str(key)


@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother"])
def test_an_api_key_is_shown_once_and_works(person: Client, button: str) -> None:
    answer = add(person, "shop", **{button: "on"})

    key = key_on(answer.content.decode())
    owner = find_key(key)
    assert owner is not None
    assert owner.name == "shop"
    for page in (reverse("admin:tasksapp_apikey_change", args=[owner.id]), reverse("admin:tasksapp_apikey_changelist")):
        assert key not in person.get(page).content.decode()


def test_a_new_key_is_in_no_cookie_no_session_no_log_and_no_cache(
    person: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = add(person, "shop")

    key = key_on(answer.content.decode())
    assert key not in str(answer.cookies)
    assert key not in str(person.cookies)
    assert all(key not in str(session.get_decoded()) for session in Session.objects.all())
    assert key not in caplog.text
    assert key not in str(list(LogEntry.objects.values()))
    assert "no-store" in answer["Cache-Control"]


def test_a_form_that_is_sent_again_makes_no_second_key_and_shows_none(person: Client) -> None:
    add(person, "shop")

    again = add(person, "shop")

    assert "already exists" in again.content.decode()
    assert "new-api-key" not in again.content.decode()
    assert ApiKey.objects.count() == 1


def test_changing_a_key_leaves_the_key_itself(person: Client) -> None:
    key = key_on(add(person, "shop").content.decode())
    row = ApiKey.objects.get()

    person.post(reverse("admin:tasksapp_apikey_change", args=[row.pk]), {"name": "the shop", "enabled": "on"})

    found = find_key(key)
    assert found is not None
    assert found.name == "the shop"
