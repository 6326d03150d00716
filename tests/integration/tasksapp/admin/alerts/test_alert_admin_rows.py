"""Open alerts stand on the overview too, those that were told."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from tasksapp.models import Alert, AlertKind
from tests.admin_scene import store_scene
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/alert/"


def test_the_overview_names_open_alerts(person: Client) -> None:
    store_scene()

    page = words_of(person.get("/admin/tasksapp/").content)

    assert "order.close: its receiver shop.example is down." in page
    assert "All alerts" in page


def test_a_blip_is_on_the_page_and_not_on_the_overview(person: Client) -> None:
    Alert.objects.create(kind=AlertKind.REDIS_AWAY, began_at=timezone.now(), sentence="away")

    assert "not sent yet: it may be a blip" in words_of(person.get(PAGE).content)
    assert "All alerts" not in words_of(person.get("/admin/tasksapp/").content)
