"""The pages of Celery's queues as a browser asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.test import Client
from django.urls import reverse

OVERVIEW, QUEUE, ACT = (
    "admin:tasksapp_celeryqueue_changelist",
    "admin:tasksapp_celeryqueue_queue",
    "admin:tasksapp_celeryqueue_act",
)


def html_of(client: Client, name: str, **query: object) -> str:
    answer = client.get(reverse(name), query)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def act(client: Client, verb: str, place: str, ids: Sequence[str] = (), **more: str) -> Any:
    form = {"verb": verb, "queue": "celery", "place": place, "ids": list(ids), **more}
    return client.post(reverse(ACT), form, follow=True)
