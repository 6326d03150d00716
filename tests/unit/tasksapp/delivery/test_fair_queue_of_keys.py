"""The line of one place, shared by flow keys."""

from __future__ import annotations

from tasksapp.delivery.fair_queue import KeyedLine
from tests.callbacks import numbered_callback


def test_keys_take_turns_and_each_keeps_its_order() -> None:
    line = KeyedLine()
    for n, key in enumerate(["a", "a", "a", "b", "", "b"]):
        line.put(numbered_callback(n, key=key))

    waiting = {one.job_id for one in line}
    popped = [line.pop().job_id for _ in range(6)]

    assert popped == [f"close-{n}" for n in (0, 3, 4, 1, 5, 2)]
    assert waiting == set(popped)
    assert not line
