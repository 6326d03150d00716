"""Two people edit the same biz type at the same time."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.models import UNTIL_RESUMED, BizType
from tests.html_form import form_fields
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


def opened(person: Client, biz_type: BizType) -> dict[str, Any]:
    """What the browser sends of the form as it is opened now, as long as nothing is typed."""
    return fields_of(person.get(address(biz_type)))


def fields_of(page: Any) -> dict[str, Any]:
    return dict(form_fields(page.content.decode(), "biztype_form"))


def address(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_change", args=[biz_type.pk]) + "?tab=all"


def test_a_form_that_is_opened_and_saved_changes_nothing(person: Client, biz_type: BizType) -> None:
    BizType.objects.update(
        headers={"X-A": "b"}, backoff_list=[1, 2.5], max_age=timedelta(days=2), paused_until=timezone.now() + HOUR
    )
    before = BizType.objects.values().get()

    answer = person.post(address(biz_type), opened(person, biz_type))

    assert answer.status_code == 302
    assert BizType.objects.values().get() == before


def test_a_pause_that_came_while_the_form_was_open_stays(person: Client, biz_type: BizType) -> None:
    form = opened(person, biz_type)
    verbs.pause(BizType.objects.get())

    assert person.post(address(biz_type), {**form, "name": "Orders"}).status_code == 302

    stored = BizType.objects.get()
    assert (stored.name, stored.paused_until) == ("Orders", UNTIL_RESUMED)


def test_what_somebody_else_stored_is_shown_before_anything_is_saved(person: Client, biz_type: BizType) -> None:
    form = opened(person, biz_type)
    BizType.objects.update(max_attempts=3)

    refused = person.post(address(biz_type), {**form, "description": "Close orders"})

    assert refused.status_code == 200
    assert "while the form was open" in refused.content.decode()
    assert set(refused.context["adminform"].form.errors) == {"__all__", "max_attempts"}
    assert BizType.objects.get().description == ""
    shown = fields_of(refused)
    assert (shown["description"], shown["max_attempts"]) == ("Close orders", "3")

    assert person.post(address(biz_type), shown).status_code == 302

    stored = BizType.objects.get()
    assert (stored.description, stored.max_attempts) == ("Close orders", 3)


def test_two_people_who_type_into_the_same_field_see_each_other(person: Client, biz_type: BizType) -> None:
    form = opened(person, biz_type)
    BizType.objects.update(url="https://receiver.example/theirs", enabled=False)

    refused = person.post(address(biz_type), {**form, "url": "https://receiver.example/mine"})

    (about_url,) = refused.context["adminform"].form.errors["url"]
    assert "https://receiver.example/theirs" in about_url
    assert "what you typed" in about_url
    shown = fields_of(refused)
    assert shown["url"] == "https://receiver.example/mine"
    assert "enabled" not in shown

    assert person.post(address(biz_type), shown).status_code == 302

    stored = BizType.objects.get()
    assert (stored.url, stored.enabled) == ("https://receiver.example/mine", False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only
def test_a_change_that_is_about_to_be_committed_is_waited_for_and_seen(person: Client, biz_type: BizType) -> None:
    form, changed = opened(person, biz_type), threading.Event()

    def is_waited_for() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
            return bool(cursor.fetchone()[0])

    def colleague() -> None:
        try:
            with transaction.atomic():
                BizType.objects.update(name="Theirs")
                changed.set()
                wait_until(is_waited_for)
        finally:
            connection.close()

    thread = threading.Thread(target=colleague)
    thread.start()
    assert changed.wait(60)
    refused = person.post(address(biz_type), {**form, "name": "Mine"})
    thread.join(60)

    assert "what you typed" in refused.context["adminform"].form.errors["name"][0]
    assert BizType.objects.get().name == "Theirs"


def test_a_form_without_what_it_was_opened_with_is_taken(person: Client, biz_type: BizType) -> None:
    # A program that posts the form without what it was opened with: there is nothing to compare.
    form = {name: value for name, value in opened(person, biz_type).items() if not name.startswith("initial-")}

    assert person.post(address(biz_type), {**form, "name": "Orders"}).status_code == 302

    assert BizType.objects.get().name == "Orders"


def test_a_secret_that_was_typed_is_asked_for_again(person: Client, biz_type: BizType) -> None:
    biz_type.auth, biz_type.auth_secret = BizType.Auth.BASIC, "ada:countess"
    biz_type.save()
    form = opened(person, biz_type)

    refused = person.post(address(biz_type), {**form, "max_attempts": "0", "auth_secret": "ada:analytical"})

    assert "Type it again" in refused.context["adminform"].form.errors["auth_secret"][0]
    assert "ada:analytical" not in refused.content.decode()


HOUR = timedelta(hours=1)
