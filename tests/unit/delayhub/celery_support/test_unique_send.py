"""Of which calls a result is waited for by others, or is followed by others."""

from __future__ import annotations

from typing import Any

import pytest
from celery.app.task import Context

from delayhub.celery_support.unique_send import is_part_of_canvas

BODY = {"task": "shop.close", "options": {"task_id": "body"}}


@pytest.mark.parametrize(
    ("options", "request_of", "expected"),
    [
        ({}, None, False),
        ({"group_id": "g"}, None, True),
        ({"chord": BODY}, None, True),
        ({"link": BODY}, None, True),
        ({"link": []}, None, False),
        ({"chain": []}, None, True),  # the last one of a chain
        ({}, {"task": "shop.close"}, False),  # a call that a task makes
        ({}, {"task": "shop.close", "chord": BODY}, True),  # the last one of a chord publishes its body
        ({}, {"task": "shop.close", "callbacks": [BODY]}, True),
        ({}, {"task": "shop.close", "callbacks": [{"task": "shop.close"}]}, False),
        # On result backends without counters a task publishes the body, which its own request does not name.
        ({}, {"task": "celery.chord_unlock"}, True),
    ],
)
def test_what_others_wait_for_or_follow(
    options: dict[str, Any], request_of: dict[str, Any] | None, expected: bool
) -> None:
    request = None if request_of is None else Context(request_of)

    assert is_part_of_canvas(options, request, "body") is expected


def test_another_call_of_a_task_that_ends_a_chord_is_waited_for_by_none() -> None:
    assert not is_part_of_canvas({}, Context({"task": "shop.close", "chord": BODY}), "another")
