"""How an entry looks to people."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from delayhub.celery_support.task_message import TaskMessage, task_message
from delayhub.engine import Listed


def test_an_entry_is_shown_with_its_task_and_arguments() -> None:
    headers = {"task": "shop.close", "argsrepr": "('order-1',)", "kwargsrepr": "{}"}
    payload = json.dumps({"headers": headers, "properties": {}}).encode()

    assert task_message(Listed("t", 1000, 0, 2, "lost", payload)) == TaskMessage(
        "t", "shop.close", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "('order-1',)", "{}", 2, "lost"
    )


def test_an_entry_whose_headers_are_not_texts_is_shown_as_they_are() -> None:
    payload = b'{"headers": {"task": {"a": 1}, "argsrepr": [1]}, "properties": {}}'

    shown = task_message(Listed("t", 0, 0, 0, None, payload))

    assert (shown.task, shown.args, shown.kwargs) == ("{'a': 1}", "[1]", "")


@pytest.mark.parametrize("payload", [b"?", None, b"{}"])
def test_what_cannot_be_read_is_shown_all_the_same(payload: bytes | None) -> None:
    assert task_message(Listed("t", 0, 0, 0, None, payload)).task == "(unreadable)"
