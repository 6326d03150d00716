"""Requests of tasks that have a unique key: they know the lease by which their worker holds the message."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from kombu import Message

from delayhub.celery_support.request import OurRequest
from delayhub.engine import Lease
from delayhub.transport.channel import Channel
from delayhub.transport.unique_publish import LEASE_PROPERTY, UNIQUE_HEADER


class Holding(Channel):
    """A channel of ours that connects to nothing, and holds one message."""

    def __init__(self) -> None:
        self.book: Any = SimpleNamespace(tags={"7": (Lease("lane", "queue", "1", 42),)})


@pytest.mark.parametrize(
    ("until", "tag", "expected"),
    [
        ("end", "7", "42:1"),
        ("start", "7", None),  # it has its key no more when it runs
        ("end", "8", None),  # it was claimed without a lease
    ],
)
def test_a_task_with_a_unique_key_knows_its_lease(until: str, tag: str, expected: str | None) -> None:
    app = Celery("requests", set_as_current=False)

    @app.task(name="t", shared=False)
    def t() -> None:
        pass

    message = Message(
        body="[[], {}, {}]",
        headers={"id": "1", "task": "t", UNIQUE_HEADER: {"key": "a", "until": until, "ms": 0}},
        content_type="application/json",
        content_encoding="utf-8",
        delivery_tag=tag,
        channel=Holding(),
    )

    assert OurRequest(message, app=app, task=t).request_dict["properties"].get(LEASE_PROPERTY) == expected
    app.close()
