"""What workers write about jobs they ran: attempts and outcomes with plain values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tasksapp.models import Transition
from tasksapp.sql.finished import Finished, Tried

STARTED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def tried(number: int = 1, **fields: Any) -> Tried:
    """An attempt that a receiver answered with 204, apart from the fields given."""
    values: dict[str, Any] = {
        "number": number,
        "started_at": STARTED_AT,
        "duration_ms": 12,
        "lateness_ms": 3,
        "status_code": 204,
        "response_headers": {"Server": "nginx"},
        "response_body": "ö\n",
        "error": "",
        "request_line": "POST https://shop.example/hooks",
        "request_headers": {"Host": "shop.example"},
    }
    return Tried(**{**values, **fields})


def finished(job_id: UUID, token: int, transition: Transition = Transition.SUCCEED, **fields: Any) -> Finished:
    """An outcome with one counted attempt, apart from the fields given."""
    values: dict[str, Any] = {
        "next_run_at": None,
        "counted": 1,
        "system_errors": 0,
        "last_error": "",
        "error_class": "",
        "tried": tried(),
    }
    return Finished(job_id, token, transition, **{**values, **fields})
