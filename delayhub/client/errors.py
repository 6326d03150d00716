"""What goes wrong between a client and a site, one tree; catch what your program treats differently.

::

    ApiError
    ├── NotConfigured              no address or no key: neither given nor in the environment
    ├── Unreachable                no answer came
    ├── UnexpectedAnswer           an answer came that is none of this API's
    ├── WaitTimeout                what was waited for has not ended in that time
    └── Problem                    the site refused: status, code, detail, errors, request id
        ├── InvalidRequest         400, 405, 411, 413, 415, 422: the request cannot be; `errors` names the fields
        ├── Unauthorized           401: the key is missing, unknown, expired or revoked
        ├── Forbidden              403: the key lacks a scope
        ├── NotFound               404: it does not exist, or the key may not see it
        ├── Conflict               409: something else is in the way
        │   ├── WrongState         the job or operation is in a state that does not allow it; `state` is that
        │   ├── ClaimLost          the claim of a pulled job does not hold any more; `state` is that of the job
        │   ├── SeveralJobs        the business key names several live jobs; `ids` are theirs
        │   └── IdempotencyKeyTaken  the idempotency key stands for another request; also 422
        ├── PreconditionFailed     412, or 409 for a stale version: someone changed it since; `version` is its own now
        ├── PreconditionRequired   428: the site asks for the version with this change
        ├── RateLimited            429: too many; `retry_after` are the seconds to wait
        │   └── NoRoomToWait       as many requests wait for a job as the site has places for; ask without waiting
        └── ServerError            500 and above
            └── ServerUnavailable  502, 503, 504: for now; `retry_after` are the seconds to wait, if it says so
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from delayhub.api_models.problems import FieldError
from delayhub.errors import DelayHubError


class ApiError(DelayHubError):
    """A request to a site's API came to nothing; the message says why."""


class NotConfigured(ApiError):
    """The client has no address or no key: give it one, or set the environment variable that the message names."""


class Unreachable(ApiError):
    """No answer came; the message names the request and what went wrong.

    ``was_sent`` says whether the request may have reached the site and been carried out there.
    """

    def __init__(self, request: str, reason: str, *, was_sent: bool) -> None:
        self.was_sent = was_sent
        super().__init__(f"{request}: {reason}")


class UnexpectedAnswer(ApiError):
    """An answer came that is none of this API's: another server's, or that of another version."""


class WaitTimeout(ApiError, TimeoutError):
    """What was waited for has not ended in that time."""


class Problem(ApiError):
    """The site refused a request; the message names the request and what the site said.

    Args:
        request: the method and path, for the message.
        status: the HTTP status.
        document: the problem document (RFC 9457); may be empty where a proxy answered.
        retry_after: the seconds to wait that the answer names.
        request_id: how the site's log names the request.
    """

    def __init__(
        self,
        request: str,
        *,
        status: int,
        document: Mapping[str, Any],
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        self.request = request
        self.status = status
        self.document: dict[str, Any] = dict(document)
        self.type: str = str(document.get("type") or "")
        #: The kind of problem: the last part of its type.
        self.code: str = code_of(self.type)
        self.detail: str = str(document.get("detail") or document.get("title") or "no reason was given")
        self.errors: Sequence[FieldError] = field_errors(document.get("errors"))
        self.retry_after = retry_after
        self.request_id = request_id
        super().__init__(f"{request} was answered {status}: {self.detail}")


class InvalidRequest(Problem):
    """The request cannot be as it is; ``errors`` names each field."""


class Unauthorized(Problem):
    """The API key is missing, unknown, expired or revoked."""


class Forbidden(Problem):
    """The API key lacks a scope that this takes; the message names it."""


class NotFound(Problem):
    """It does not exist, or the key may not see it."""


class Conflict(Problem):
    """Something that exists already, or is under way, is in the way."""


class _InState:
    document: dict[str, Any]

    @property
    def state(self) -> str:
        """The state of the operation, or the status of the job, now."""
        return str(self.document.get("state", ""))


class WrongState(_InState, Conflict):
    """The job or the operation is in a state that does not allow it."""


class ClaimLost(_InState, Conflict):
    """The claim of a pulled job does not hold any more: its lease ended, or it was ended otherwise before."""


class SeveralJobs(Conflict):
    """The business key names several live jobs: name one by its id."""

    @property
    def ids(self) -> Sequence[str]:
        """The ids of those jobs."""
        return [str(found) for found in self.document.get("ids", ())]


class IdempotencyKeyTaken(Conflict):
    """The idempotency key stands for another request."""

    @property
    def job_id(self) -> str:
        """The job that the key stands for; empty where the site does not say."""
        return str(self.document.get("job_id", ""))


class PreconditionFailed(Problem):
    """Someone changed it since the version that was given: read it again, and decide again."""

    @property
    def version(self) -> int | None:
        """Its version now; None where the site does not say."""
        return self.document.get("version")


class PreconditionRequired(Problem):
    """The site makes this change only where the version is given."""


class RateLimited(Problem):
    """Too many requests, or too many new jobs: wait for ``retry_after`` seconds."""


class NoRoomToWait(RateLimited):
    """As many requests wait for a job already as the site has places for. The client then asks now and then."""


class ServerError(Problem):
    """Something failed at the site, which has logged it."""


class ServerUnavailable(ServerError):
    """The site, its database or a proxy cannot answer for now."""


_BY_STATUS: Mapping[int, type[Problem]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    428: PreconditionRequired,
    429: RateLimited,
    502: ServerUnavailable,
    503: ServerUnavailable,
    504: ServerUnavailable,
}
_BY_CODE: Mapping[str, type[Problem]] = {
    "wrong_state": WrongState,
    "claim_lost": ClaimLost,
    "several_jobs": SeveralJobs,
    "idempotency_key_taken": IdempotencyKeyTaken,
    "version_conflict": PreconditionFailed,
    "too_many_waits": NoRoomToWait,
}


def problem(request: str, *, status: int, document: Mapping[str, Any], **facts: Any) -> Problem:
    """The error for an answer of 400 or more, as :class:`Problem` takes it: of its code's class, else its status's."""
    kind = _BY_CODE.get(code_of(str(document.get("type") or ""))) or _BY_STATUS.get(status)
    if kind is None:
        kind = ServerError if status >= 500 else InvalidRequest
    return kind(request, status=status, document=document, **facts)


def code_of(type_uri: str) -> str:
    """The code at the end of a problem's type, which is an address or a URN."""
    return type_uri.rstrip("/").replace(":", "/").rpartition("/")[2]


def field_errors(listed: Any) -> Sequence[FieldError]:
    """The faults of a problem document; none where it has no list of them."""
    if not isinstance(listed, list):
        return []
    return [
        FieldError(entry.get("field"), str(entry.get("code", "")), str(entry.get("message", "")))
        for entry in listed
        if isinstance(entry, dict)
    ]
