"""Listing what waits, in pages."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery

from delayhub.celery_support import queued_task
from delayhub.engine import DelayQueue, Entry


@pytest.mark.parametrize("queue", ["celery", None])
def test_pages_go_on_beyond_what_one_call_lists(
    queue: str | None, app: Celery, redis_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued_task, "PAGE", 10)
    entries = [Entry(f"t{number:02d}", 4_000_000_000_000 + number, b"?") for number in range(35)]
    DelayQueue(redis_client, "celery").schedule(entries)

    pages = [app.control.scheduled(queue, limit=15, offset=offset) for offset in (0, 15, 30, 45)]

    assert [task.id for page in pages for task in page] == [entry.id for entry in entries]
    assert [len(page) for page in pages] == [15, 15, 5, 0]


def test_pages_over_several_queues_are_in_one_order(app: Celery, redis_client: Any) -> None:
    for number in range(10):
        DelayQueue(redis_client, "ab"[number % 2]).schedule([Entry(f"t{number}", 4_000_000_000_000 + number, b"?")])
    redis_client.sadd("delayhub:queues", "a", "b")

    found = app.control.scheduled(limit=4, offset=3)

    assert [task.id for task in found] == ["t3", "t4", "t5", "t6"]


def test_one_time_is_wanted(app: Celery) -> None:
    with pytest.raises(ValueError, match="either eta or countdown"):
        app.control.reschedule("t")
    with pytest.raises(TypeError, match="an eta is a datetime, got 'tomorrow'"):
        app.control.reschedule("t", eta="tomorrow")
