"""A listed message as the task it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from delayhub.celery_support.queued_task import QueuedTask
from delayhub.engine import Listed, Place


def listed(headers: Any, **fields: Any) -> Listed:
    payload = json.dumps({"headers": headers, "properties": {}}).encode()
    return Listed(**{"id": "a#1", "at_ms": 0, "step": 2, "strikes": 1, "reason": None, "payload": payload, **fields})


def test_it_says_what_the_headers_say() -> None:
    headers = {"id": "a", "task": "shop.close", "argsrepr": "(1,)", "retries": 2, "origin": "gen1@web", "expires": None}

    task = QueuedTask.of(listed(headers), Place.WAITING)

    assert (task.id, task.task_id, task.task, task.args, task.kwargs) == ("a#1", "a", "shop.close", "(1,)", "")
    assert (task.retries, task.origin, task.expires, task.step, task.strikes) == (2, "gen1@web", "", 2, 1)


@pytest.mark.parametrize("payload", [b"?", None, b"{}"])
def test_what_cannot_be_read_is_shown_all_the_same(payload: bytes | None) -> None:
    task = QueuedTask.of(listed({}, at_ms=1000, payload=payload), Place.DEAD)

    assert (task.id, task.task, task.at) == ("a#1", "", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))


@pytest.mark.parametrize("headers", [None, [1], "text", {"task": None}, {"retries": "many"}])
def test_headers_that_are_none_of_celerys_do_no_harm(headers: Any) -> None:
    task = QueuedTask.of(listed(headers, reason="why"), Place.DEAD)

    assert (task.task, task.retries, task.reason) == ("", 0, "why")


def test_a_message_of_no_readable_kind_has_its_size_and_no_name() -> None:
    task = QueuedTask.of(listed({}, payload=b"\xff\xfe"), Place.READY)

    assert (task.task, task.size) == ("", 2)


def test_values_that_are_no_text_are_shown_as_text() -> None:
    task = QueuedTask.of(listed({"id": 7, "task": {"a": 1}}), Place.READY)

    assert (task.task_id, task.task) == ("7", "{'a': 1}")
    assert task.holds("a#1", with_arguments=False)
