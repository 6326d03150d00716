"""An attempt as callers see it: what is shown is what OpenAPI describes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tasksapp.api.jobs.reading import AttemptSerializer, attempt_json
from tasksapp.models import Attempt

ATTEMPT = Attempt(
    number=3,
    started_at=datetime(2026, 1, 2, tzinfo=UTC),
    duration_ms=12,
    lateness_ms=-1,
    status_code=None,
    request_line="POST https://shop.example/hooks HTTP/1.1",
    request_headers={"Authorization": "Bearer (hidden)"},
    response_headers={"Server": "nginx"},
    response_body="ö",
    error="connection refused",
    worker="w1",
)


def test_it_shows_how_the_attempt_went() -> None:
    assert attempt_json(ATTEMPT) == {
        "number": 3,
        "started_at": "2026-01-02T00:00:00Z",
        "duration_ms": 12,
        "lateness_ms": -1,
        "status_code": None,
        "request_line": "POST https://shop.example/hooks HTTP/1.1",
        "request_headers": {"Authorization": "Bearer (hidden)"},
        "response_headers": {"Server": "nginx"},
        "response_body": "ö",
        "error": "connection refused",
        "worker": "w1",
    }


def test_it_is_json_and_has_the_fields_that_are_described() -> None:
    shown = json.loads(json.dumps(attempt_json(ATTEMPT)))

    described = AttemptSerializer(data=shown)
    assert list(shown) == list(described.fields)
    assert described.is_valid(), described.errors


def test_of_the_headers_that_a_row_keeps_in_short_all_are_shown_as_they_were_sent() -> None:
    # as an attempt of a worker is stored: what cannot be told from the other columns
    short = [
        1_767_312_000_000,
        1,
        16,
        0,
        2,
        True,
        False,
        "",
        ["DelayHub/1", "order.close", [["X-Shop", "(hidden)"]], ""],
    ]
    attempt = Attempt(**{field: getattr(ATTEMPT, field) for field in ("number", "started_at", "lateness_ms")})
    attempt.request_line, attempt.request_headers = ATTEMPT.request_line, short

    headers = attempt_json(attempt)["request_headers"]

    assert AttemptSerializer(data=attempt_json(ATTEMPT) | {"request_headers": headers}).is_valid()
    assert (headers["X-Shop"], headers["webhook-signature"]) == ("(hidden)", "(hidden)")
    assert headers["delayhub-max-attempts"] == "16"


def test_an_attempt_of_a_puller_sent_nothing() -> None:
    attempt = Attempt(started_at=ATTEMPT.started_at, request_headers={"delayhub-claim": "a mark"})

    assert attempt_json(attempt)["request_headers"] == {}
