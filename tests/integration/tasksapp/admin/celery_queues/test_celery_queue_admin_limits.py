"""The limits of a queue's tasks on the pages of Celery's queues."""

from __future__ import annotations

import pytest
import redis
from celery import Celery
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from delayhub.celery_support.task_limits import declare, set_at_once_for_all, set_for_all
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.limits import limit_key
from tests.page_words import words_of

pytestmark = pytest.mark.django_db


def test_a_queue_shows_its_limits_and_what_they_hold_back(
    client: Client, admin_user: User, app: Celery, redis_client: redis.Redis
) -> None:
    def said(name: str, **query: str) -> str:
        html = client.get(reverse(f"admin:tasksapp_celeryqueue_{name}"), query).content
        return words_of(html)

    client.force_login(admin_user)
    queue = DelayQueue(redis_client, "celery")
    assert "Held by limits" not in said("queue", queue="celery")
    declare(queue, {"shop.mail": "1/h", "shop.<b>": "2/h"})
    set_for_all([queue], "shop.<b>", "5/h", by="ann")
    queue.schedule([Entry(name, payload=b'{"headers":{"task":"shop.mail"},"properties":{}}') for name in "abc"])
    assert len(queue.claim(10).entries) == 1

    page, overview = said("queue", queue="celery", tab="parked"), said("changelist")

    assert "Held by limits 2" in page
    assert "shop.mail 1/h as its code says 2" in page
    assert "shop.&lt;b&gt; 5/h ann" in page
    assert "its code says 2/h" in page
    assert "held by limits: 2" in overview

    assert "Running at once" not in page
    set_at_once_for_all([queue], "shop.mail", 3, by="bob")
    page = said("queue", queue="celery", tab="parked")
    assert "May start Running at once Held back now" in page
    assert "0 of 3 run bob" in page  # what was claimed before does not count
    assert "any number" in page

    form = {"verb": "revoke", "queue": "celery", "place": "parked", "ids": ["b"], "confirmed": "1", "reason": "x"}
    client.post(reverse("admin:tasksapp_celeryqueue_act"), form)
    assert queue.count().parked == 1


def test_a_queue_shows_the_flow_keys_that_wait(
    client: Client, admin_user: User, app: Celery, redis_client: redis.Redis
) -> None:
    client.force_login(admin_user)
    queue = DelayQueue(redis_client, "celery")
    declare(queue, {"shop.mail\0": "1/h"})
    for number, key in enumerate(["<b>", "<b>", "<b>", "zeta"]):
        payload = b'{"headers":{"task":"shop.mail","x-delayhub-key":"%s"},"properties":{}}' % key.encode()
        queue.schedule([Entry(str(number), payload=payload)])
    assert len(queue.claim(10).entries) == 2

    html = client.get(reverse("admin:tasksapp_celeryqueue_queue"), {"queue": "celery"}).content.decode()

    page = words_of(html)
    assert "shop.mail each flow key 1/h as its code says 2 of 1 flow key" in page
    assert "Next may start &lt;b&gt; shop.mail 2" in page

    queue.client.zadd(queue.keys.shut, {limit_key("shop.mail\0<b>"): 1_000})  # long over, and no worker has asked since
    html = client.get(reverse("admin:tasksapp_celeryqueue_queue"), {"queue": "celery"}).content.decode()

    page = words_of(html)
    assert "shop.mail 2 - now" in page
