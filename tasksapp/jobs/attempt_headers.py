"""The headers of an attempt's request, for pages: attempts keep only what cannot be told from their other columns."""

from __future__ import annotations

from delayhub.clock import due_ms
from tasksapp.delivery.sent_headers import shown_again
from tasksapp.models import Attempt


def attempt_headers(attempt: Attempt) -> dict[str, str]:
    """The headers as they were sent, in order, secrets masked; none where nothing was sent."""
    return shown_again(
        attempt.request_headers,
        line=attempt.request_line,
        job_id=str(attempt.job_id),
        started_ms=due_ms(attempt.started_at),
        lateness_ms=attempt.lateness_ms,
    )
