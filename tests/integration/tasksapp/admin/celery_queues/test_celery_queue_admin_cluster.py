"""The pages of Celery's queues on a Redis Cluster, of a queue in eight slots."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery, current_app
from django.test import Client
from django.urls import reverse

from tasksapp.queues.celery_broker import QueueVerb
from tests.cluster import LocalCluster
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

OVERVIEW, QUEUE, ACT = (
    "admin:tasksapp_celeryqueue_changelist",
    "admin:tasksapp_celeryqueue_queue",
    "admin:tasksapp_celeryqueue_act",
)


def shown(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return words_of(answer.content)


def test_a_queue_in_slots_is_shown_searched_and_acted_on_as_one(
    app: Celery, cluster: LocalCluster, admin_client: Client
) -> None:
    app.conf.broker_url = cluster.url
    current_app.control.slots("reports", 8)
    for number in range(60):
        app.send_task("shop.close", task_id=f"task-{number:02}", queue="reports", countdown=1000 + number)

    overview = shown(admin_client.get(reverse(OVERVIEW)))
    first = shown(admin_client.get(reverse(QUEUE), {"queue": "reports", "tab": "waiting"}))
    found = shown(admin_client.get(reverse(QUEUE), {"queue": "reports", "tab": "waiting", "q": "task-42"}))
    form = {"queue": "reports", "place": "waiting", "confirmed": "1"}
    admin_client.post(reverse(ACT), {**form, "verb": QueueVerb.RUN_NOW, "ids": ["task-00", "task-01"]}, follow=True)
    ready = shown(admin_client.get(reverse(QUEUE), {"queue": "reports", "tab": "ready"}))
    moved = shown(
        admin_client.post(
            reverse(ACT), {**form, "verb": QueueVerb.TRANSFER, "ids": ["task-02"], "target": "celery"}, follow=True
        )
    )

    assert "reports 60 0 0 0" in overview
    assert [f"task-{number:02}" in first for number in (0, 49, 50)] == [True, True, False]
    assert "task-42" in found
    assert "task-41" not in found
    assert "task-00" in ready
    assert "task-01" in ready
    assert "A Redis Cluster moves no message to another queue" in moved
    assert current_app.control.counts("reports")["reports"] == (58, 2, 0, 0, 0)
