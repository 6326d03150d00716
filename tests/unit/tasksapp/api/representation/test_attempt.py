"""An attempt as callers see it: what is shown is what OpenAPI describes."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tasksapp.api.representation.attempt import AttemptSerializer, attempt_json
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
