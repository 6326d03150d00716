"""The headers of an attempt's request, from what the attempt keeps of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from delayhub.clock import moment
from tasksapp.delivery.sent_headers import SentHeaders
from tasksapp.jobs.attempt_headers import attempt_headers
from tasksapp.models import Attempt

JOB_ID = UUID(int=7)


def attempt(headers: Any) -> Attempt:
    line = "POST https://shop.example/"
    return Attempt(
        job_id=JOB_ID, request_line=line, request_headers=headers, started_at=moment(61_234), lateness_ms=234
    )


def test_what_the_columns_tell_is_filled_in() -> None:
    kept = list(SentHeaders(61_000, 2, 3, 0, 2, True, False, "", ("DelayHub/1", "order.close")))

    headers = attempt_headers(attempt(kept))

    assert headers["Host"] == "shop.example"
    assert headers["webhook-id"] == str(JOB_ID)
    assert headers["webhook-timestamp"] == "61"
    assert headers["delayhub-due-at"] == "1970-01-01T00:01:01.000+00:00"
    assert headers["delayhub-lateness-ms"] == "234"


@pytest.mark.parametrize("whole", [{}, {"Host": "shop.example"}])
def test_whole_headers_are_given_back_as_they_are(whole: dict[str, str]) -> None:
    assert attempt_headers(attempt(whole)) == whole
