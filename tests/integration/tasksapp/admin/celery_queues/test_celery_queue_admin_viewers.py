"""The pages of Celery's queues: who sees them, and what they hide from those who may only look."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from celery import Celery
from django.test import Client
from django.urls import reverse

from delayhub.engine import DelayQueue, Entry
from tests.integration.tasksapp.admin.celery_queues.pages import OVERVIEW, QUEUE, act, html_of
from tests.page_words import words_of

pytestmark = pytest.mark.django_db


def test_without_the_permission_there_is_no_page_and_no_link(app: Celery, person_with: Callable[..., Client]) -> None:
    other, viewer = person_with("view_job"), person_with("view_celery_queue")

    assert other.get(reverse(OVERVIEW)).status_code == 403
    assert other.get(reverse(QUEUE), {"queue": "celery"}).status_code == 403
    assert "Celery queues" not in html_of(other, "admin:index")
    assert reverse("admin:tasksapp_celeryqueue_changelist") in html_of(viewer, "admin:index")


def test_a_viewer_sees_no_arguments_no_address_and_no_button(
    app: Celery, queue: DelayQueue, person_with: Callable[..., Client]
) -> None:
    app.send_task("shop.close", ["card-4711"], countdown=1000)
    viewer = person_with("view_celery_queue")

    page = html_of(viewer, QUEUE, queue="celery")

    assert "shop.close" in page
    assert "card-4711" not in page
    assert 'name="verb"' not in page
    assert "No message was found." in html_of(viewer, QUEUE, queue="celery", q="card-4711")
    assert act(viewer, "run_now", "waiting", ["a"]).status_code == 403
    app.conf.broker_url = "delayhub://127.0.0.1:1/0"
    assert "127.0.0.1" not in html_of(viewer, OVERVIEW)


def test_why_a_message_cannot_be_read_may_quote_its_arguments_which_a_viewer_does_not_see(
    queue: DelayQueue, person_with: Callable[..., Client]
) -> None:
    queue.schedule([Entry("a", payload=b"1")])
    (entry,) = queue.claim(1).entries
    queue.bury([queue.lease(entry.id, entry.token)], reason="unreadable: no list: {'card': '4711'}")
    viewer, reader = person_with("view_celery_queue"), person_with("view_celery_queue", "view_job_body")

    page = words_of(html_of(viewer, QUEUE, queue="celery", tab="dead"))

    assert "4711" not in page
    assert "unreadable: hidden (25 bytes)" in page
    assert "4711" in html_of(reader, QUEUE, queue="celery", tab="dead")
