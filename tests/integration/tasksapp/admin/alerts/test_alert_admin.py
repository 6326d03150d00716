"""The page of alerts: what is wrong, what was sent, and a test message that goes out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasksapp.models import Alert, AlertKind, AlertMessage, BizType
from tests.admin_scene import store_scene
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

PAGE = "/admin/tasksapp/alert/"


def test_the_page_says_what_is_wrong_and_what_was_sent_and_hides_what_is_secret(person: Client) -> None:
    store_scene()

    page = words_of(person.get(PAGE).content)

    assert "order.close: jobs die, 44,667 lately. 44,667 dead jobs wait for a person." in page
    assert "order.close: its receiver shop.example is down." in page
    assert "came back 2 times" in page
    assert re.search(r"ada@shop\.example: sent at", page)
    assert re.search(r"https://chat\.example: failed 4 times, next at .* \(the receiver answered 503\)", page)
    assert "a-secret-path" not in person.get(PAGE).content.decode()


def test_without_alerts_it_says_so(person: Client) -> None:
    page = words_of(person.get(PAGE).content)

    assert "Nothing is wrong." in page
    assert "The site has no owner" in page
    assert "Messages have no links" in page


def test_a_test_message_goes_to_the_owner_who_is_chosen(person: Client, settings: Any) -> None:
    settings.DELAYHUB |= {"OWNER_MAIL": ["owner@shop.example"]}
    team = BizType.objects.create(code="team.job", url="https://shop.example", owner_mail="team@shop.example")

    said = person.post(f"{PAGE}test/", {"biz_type": ""}, follow=True)
    person.post(f"{PAGE}test/", {"biz_type": team.pk})

    assert "The test message to owner@shop.example is sent." in words_of(said.content)
    assert [each.to for each in mail.outbox] == [["owner@shop.example"], ["team@shop.example"]]
    assert AlertMessage.objects.filter(sent_at__isnull=False).count() == 2


def test_a_test_message_that_fails_says_why(person: Client, settings: Any) -> None:
    settings.DELAYHUB |= {"OWNER_MAIL": ["owner@shop.example"]}
    settings.EMAIL_BACKEND = "delayhub.project.mail_server.EmailBackend"

    said = person.post(f"{PAGE}test/", follow=True)

    assert "no mail server is set: name one in DELAYHUB_EMAIL_URL" in words_of(said.content)


@pytest.mark.parametrize("value", ["", "0", "x", "9" * 30, "-1"])
def test_without_an_owner_a_test_says_so(person: Client, value: str) -> None:
    said = person.post(f"{PAGE}test/", {"biz_type": value}, follow=True)

    assert "There is no owner to send to" in words_of(said.content)


def test_a_viewer_may_look_and_not_send(viewer: Client) -> None:
    assert viewer.get(PAGE).status_code == 200
    assert "Send a test message" not in viewer.get(PAGE).content.decode()
    assert viewer.post(f"{PAGE}test/").status_code == 403
    assert viewer.get(f"{PAGE}test/").status_code == 405


def test_a_person_without_rights_sees_nothing() -> None:
    client = Client()
    client.force_login(User.objects.create_user("mallory", is_staff=True))

    assert client.get(PAGE).status_code == 403


def test_the_page_takes_few_queries_however_many_alerts_there_are(person: Client) -> None:
    now = timezone.now()
    Alert.objects.bulk_create(
        Alert(kind=AlertKind.REDIS_AWAY, began_at=now, ended_at=now, told_at=now, sentence="away") for _ in range(60)
    )

    with CaptureQueriesContext(
        connection,
    ) as queries:
        page = person.get(f"{PAGE}?page=2")

    assert page.status_code == 200
    assert len(queries) <= 2 + 12, [query["sql"] for query in queries]
