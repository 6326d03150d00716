"""The message that hands a batch of due timers to the task of their lane."""

from __future__ import annotations

import json

import pytest

from delayhub.transport.envelope import from_payload, to_entry
from delayhub.transport.timer_queue import timer_message


def test_the_task_is_called_with_the_ids_and_what_it_must_know_of_them() -> None:
    message = timer_message("t.deliver", ["a", "b"], lane="l", now_ms=5, struck=False)

    args, kwargs, _ = json.loads(message["body"])
    assert message["headers"]["task"] == "t.deliver"
    assert (args, kwargs) == ([["a", "b"]], {"lane": "l", "now_ms": 5, "struck": False})


def test_each_message_is_a_task_of_its_own_without_a_result() -> None:
    first, second = (timer_message("t.deliver", ["a"], lane="l", now_ms=5, struck=False) for _ in range(2))

    assert first["headers"]["id"] != second["headers"]["id"]
    for message in (first, second):
        assert message["headers"]["id"] == message["headers"]["root_id"] == message["properties"]["correlation_id"]
        assert message["headers"]["ignore_result"] is True


@pytest.mark.parametrize("count", [1, 100])
def test_what_workers_log_of_it_does_not_grow_with_the_ids(count: int) -> None:
    message = timer_message("t.deliver", ["x" * 36] * count, lane="l", now_ms=5, struck=False)

    assert message["headers"]["argsrepr"] == f"([{count} ids],)"


def test_it_can_be_stored_like_any_other_message() -> None:
    message = timer_message("t.deliver", ["a"], lane="l", now_ms=5, struck=False)
    message["properties"]["delivery_tag"] = "1"

    entry = to_entry(message, priority_steps=[0, 3, 6, 9])

    assert (entry.id, entry.due_ms) == (message["headers"]["id"], 0)
    assert from_payload(entry.payload) == message
