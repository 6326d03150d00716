"""The limits of a queue's tasks on the pages of Celery's queues."""

from __future__ import annotations

import re

import pytest
import redis
from celery import Celery
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from delayhub.celery_support.task_limits import declare, set_for_all
from delayhub.engine import DelayQueue, Entry

pytestmark = pytest.mark.django_db


def test_a_queue_shows_its_limits_and_what_they_hold_back(
    client: Client, admin_user: User, app: Celery, redis_client: redis.Redis
) -> None:
    def said(name: str, **query: str) -> str:
        html = client.get(reverse(f"admin:tasksapp_celery_{name}"), query).content.decode()
        return " ".join(re.sub(r"<[^>]+>", " ", html).split())

    client.force_login(admin_user)
    queue = DelayQueue(redis_client, "celery")
    assert "Held by limits" not in said("queue", queue="celery")
    declare(queue, {"shop.mail": "1/h", "shop.<b>": "2/h"})
    set_for_all([queue], "shop.<b>", "5/h", by="ann")
    queue.schedule([Entry(name, payload=b'{"headers":{"task":"shop.mail"},"properties":{}}') for name in "abc"])
    assert len(queue.claim(10).entries) == 1

    page, overview = said("queue", queue="celery", tab="parked"), said("queues")

    assert "Held by limits 2" in page
    assert "shop.mail 1/h its code 2" in page
    assert "shop.&lt;b&gt; 5/h ann" in page
    assert "its code says 2/h" in page
    assert "held by limits: 2" in overview

    form = {"verb": "revoke", "queue": "celery", "place": "parked", "ids": ["b"], "confirmed": "1", "reason": "x"}
    client.post(reverse("admin:tasksapp_celery_act"), form)
    assert queue.count().parked == 1
