"""API keys in the admin."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tasksapp.access.keys import find_key

pytestmark = pytest.mark.django_db


def test_an_api_key_is_shown_once_and_works(person: Client) -> None:
    answer = person.post(reverse("admin:tasksapp_apikey_add"), {"name": "shop", "enabled": "on"}, follow=True)

    (message,) = [str(message) for message in answer.context["messages"] if "<code>" in str(message)]
    key = message.partition("<code>")[2].partition("</code>")[0]
    owner = find_key(key)
    assert owner is not None
    assert owner.name == "shop"
    assert key not in person.get(reverse("admin:tasksapp_apikey_change", args=[owner.id])).content.decode()
