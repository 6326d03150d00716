"""Queues whose arguments make them timer lanes."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.transport.timer_queue import TimerQueue


@pytest.mark.parametrize(
    ("arguments", "declared"),
    [
        ({"x-delayhub-task": "t.deliver", "x-delayhub-batch": 10}, TimerQueue("t.deliver", 10)),
        # kombu may bring numbers as text
        ({"x-delayhub-task": "t.deliver", "x-delayhub-batch": "7"}, TimerQueue("t.deliver", 7)),
        ({"x-delayhub-task": "t.deliver"}, TimerQueue("t.deliver", 100)),
        # a queue of messages
        ({"x-expires": 5}, None),
        ({}, None),
    ],
)
def test_queue_arguments_declare_a_timer_queue(arguments: dict[str, Any], declared: TimerQueue | None) -> None:
    assert TimerQueue.declared(arguments) == declared
