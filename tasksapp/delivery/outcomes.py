"""What can become of a callback, and the kinds of its failure: values, not exceptions.

The words of failures for people, and the kinds that only jobs have, are in ``tasksapp/models/error_class.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tasksapp.delivery.callback import Callback
from tasksapp.delivery.sent_headers import SentHeaders, shown_again
from tasksapp.delivery.sent_request import SentRequest


class Failure(StrEnum):
    """The kind of a callback's failure."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    RESET = "reset"
    PROTOCOL = "protocol"
    ADDRESS = "address"
    REJECTED = "rejected"
    ASKED = "asked"
    OUTCOME_UNKNOWN = "outcome_unknown"
    RETURNED = "returned"
    SYSTEM = "system"
    OTHER = "other"


def http_failure(status_code: int) -> str:
    """The kind of failure of an answer with that status: ``http.503``."""
    return f"http.{status_code}"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver accepted it."""

    #: Whether the receiver asked to cancel the other pending jobs of the same business key.
    cancel_others: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed, and may succeed later.

    Args:
        reason: a short sentence.
        after_seconds: the wait that the receiver asked for; None for the policy's own backoff.
        unsent: whether it certainly failed before the first byte of the request was sent.
        kind: the kind of failure.
    """

    reason: str
    after_seconds: float | None = None
    unsent: bool = False
    kind: str = Failure.OTHER


@dataclass(frozen=True, slots=True)
class Snooze:
    """It is too early, says the receiver; no attempt is used.

    Args:
        reason: a short sentence.
        after_seconds: the wait that the receiver asked for; None for the first one of the policy's backoff.
    """

    reason: str
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It failed, and would fail again."""

    reason: str
    kind: str = Failure.REJECTED


@dataclass(frozen=True, slots=True)
class Returned:
    """It was not sent, for a reason on our side; no attempt is used.

    Args:
        reason: a short sentence.
        after_seconds: how long to wait before it is tried again.
        is_fault: whether something of ours failed, which is counted; not where it only had to wait or was interrupted.
        lacks_token: whether the reason is that there is no access token, which others of its biz type lack too.
    """

    reason: str
    after_seconds: float = 0.0
    is_fault: bool = False
    lacks_token: bool = False


CallbackOutcome = Delivered | Retry | Snooze | GiveUp | Returned


#: Kept among the headers of an answer that has a fault after its status line: what was wrong.
REMARK = "delayhub-remark"


class Response(NamedTuple):
    """The receiver's answer, as far as it is kept.

    Args:
        status_code: its status, which decides.
        headers: its headers, none if they were not received completely; and the remark.
        body: as much of its body as is kept.
    """

    status_code: int
    headers: dict[str, str]
    body: str

    @property
    def remark(self) -> str:
        """The fault in the answer after its status line; '' for none."""
        return self.headers.get(REMARK, "")


class CallbackResult(NamedTuple):
    """A callback and what became of it.

    Args:
        callback: the callback.
        outcome: what became of it.
        started_ms: when the attempt began, Unix ms; 0 where it did not.
        duration_ms: how long it took.
        response: the receiver's answer, if there was one.
        request_line: method and address of what was sent, or would have been where no connection was made; secrets are
            masked. '' where nothing can be sent.
        request_headers: what is kept of its headers.
    """

    callback: Callback
    outcome: CallbackOutcome
    started_ms: int = 0
    duration_ms: int = 0
    response: Response | None = None
    request_line: str = ""
    request_headers: SentHeaders | None = None

    @property
    def receiver_is_down(self) -> bool:
        """Whether it failed in a way that other callbacks to the same receiver will share."""
        down = self.response is None or self.response.status_code >= 500
        return down and isinstance(self.outcome, Retry)

    @property
    def lateness_ms(self) -> int:
        """How much later than planned the attempt began."""
        return self.started_ms - self.callback.run_at_ms

    @property
    def request(self) -> SentRequest | None:
        """The request with all its headers; None where nothing can be sent."""
        if self.request_headers is None:
            return None
        headers = shown_again(
            self.request_headers,
            line=self.request_line,
            job_id=self.callback.job_id,
            started_ms=self.started_ms,
            lateness_ms=self.lateness_ms,
        )
        return SentRequest(self.request_line, headers)
