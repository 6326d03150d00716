"""The headers of an attempt: of its request only what cannot be told from other columns, and what is kept with them."""

from __future__ import annotations

from delayhub.clock import due_ms
from tasksapp.delivery.outcomes import REMARK
from tasksapp.delivery.sent_headers import shown_again
from tasksapp.models import Attempt

#: In place of headers, the record of an attempt by a puller recognises its claim by this.
CLAIM = "delayhub-claim"
#: The id of a request, as requests and records name it.
REQUEST_ID = "X-Request-Id"


def was_pulled(attempt: Attempt) -> bool:
    """Whether a puller made the attempt, so that there was no callback."""
    return isinstance(attempt.request_headers, dict) and CLAIM in attempt.request_headers


def remark(attempt: Attempt) -> str:
    """Return what was wrong with the answer of an attempt after its status line; '' for nothing."""
    return str(attempt.response_headers.get(REMARK, ""))


def attempt_headers(attempt: Attempt) -> dict[str, str]:
    """The headers as they were sent, in order, secrets masked; none where nothing was sent."""
    if was_pulled(attempt):
        return {}
    return shown_again(
        attempt.request_headers,
        line=attempt.request_line,
        job_id=str(attempt.job_id),
        started_ms=due_ms(attempt.started_at),
        lateness_ms=attempt.lateness_ms,
    )
