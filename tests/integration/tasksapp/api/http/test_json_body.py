"""A request body is JSON, or refused before anything is done."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("raw", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"body": NaN}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b'{"a": 1, "a": 2}', "application/json", 400),
        (b'{"body": "\\ud800"}', "application/json", 400),
        (b'{"body": ' + b"[" * 100_000, "application/json", 400),
        (b"a=1", "application/x-www-form-urlencoded", 415),
        (b" " * 1_000_000, "application/json", 413),
    ],
)
def test_a_body_that_is_not_json_is_refused(client: Any, key: str, raw: bytes, content_type: str, status: int) -> None:
    response = client.post(
        "/api/v1/jobs", data=raw, content_type=content_type, headers={"authorization": f"Bearer {key}"}
    )

    problem(response, status)
