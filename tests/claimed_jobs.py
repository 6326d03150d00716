"""Rows as a claim leaves them, with plain values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from tasksapp.sql.claim_answer import ClaimedJob

CLAIMED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def claimed_job(**columns: Any) -> ClaimedJob:
    """A job that was due when it was claimed and may be tried three times, apart from the columns given."""
    row = ClaimedJob(
        id=UUID(int=5),
        biz_type_id=1,
        biz_type_revision=1,
        biz_id="",
        body="{}",
        due_at=CLAIMED_AT,
        next_run_at=CLAIMED_AT,
        redriven_at=None,
        priority=5,
        attempts=0,
        attempt_base=0,
        redrives=0,
        system_errors=0,
        max_attempts=3,
        traceparent="",
        error_class="",
        lease_until=CLAIMED_AT + timedelta(seconds=60),
    )
    return row._replace(**columns)
