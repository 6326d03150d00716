"""REST framework's exception handler for the API: every error becomes a problem document."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import ceil
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import Http404, HttpResponse
from rest_framework.exceptions import (
    APIException,
    AuthenticationFailed,
    MethodNotAllowed,
    NotAcceptable,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.problems import (
    Problem,
    Refused,
    database_away,
    internal_error,
    malformed_request,
)
from tasksapp.biz_types.insert_limit import InsertLimit
from tasksapp.errors import (
    AlreadyAnswered,
    ClaimLost,
    CodeTaken,
    InvalidBizType,
    InvalidJob,
    JobDeleted,
    JobNotFound,
    KeyInUse,
    KeyResolved,
    KeyTaken,
    LinkNotFound,
    LinkOver,
    NameTaken,
    NotFirst,
    OneIsLive,
    OperationNotFound,
    QuotaUsedUp,
    SeriesNotFound,
    SeveralJobs,
    StaleKey,
    StaleSeries,
    TenantMoving,
    TimersAway,
    TooManyInserts,
    VersionConflict,
    WrongOperationState,
    WrongState,
)
from tasksapp.models.database_faults import is_away
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealable import UNREADABLE

logger = logging.getLogger(__name__)


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """The problem document of any error. Those that a caller can do nothing about are logged and have no details."""
    problem = problem_of(error)
    if problem is None and is_away(error):
        # One line: while the database is away, there is one for each request.
        problem = database_away(error)
        logger.error("%s failed (%s): %s", context["request"].path, problem.code, error)
    if problem is None:
        logger.error("%s failed", context["request"].path, exc_info=error)
        problem = internal_error()
    response = problem.response()
    if problem.status == 405:
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def problem_of(error: Exception) -> Problem | None:  # noqa: PLR0911, PLR0912  a table of errors
    """The problem document of an error that a caller can do something about; None for a failure on our side."""
    match error:
        case Refused():
            return error.problem
        case SecretUnreadable():
            return Problem("secrets_unreadable", f"It is {UNREADABLE}.")
        case TenantMoving():
            return Problem("moving", str(error), again_seconds=2)
        case InvalidJob():
            entry = FieldError(error.field, error.code, error.message)
            return Problem("invalid", error.message, errors=[entry])
        case InvalidBizType():
            entries = [FieldError(*fault) for fault in error.faults]
            return Problem("invalid", entries[0].message, errors=entries)
        case CodeTaken():
            return _conflict("code_taken", error, errors=[FieldError("code", "taken", str(error))])
        case TooManyInserts():
            headers, again = limit_headers(_limits_of(error)), error.retry_after_seconds
            return Problem("too_many_inserts", str(error), headers=headers, again_seconds=again)
        case QuotaUsedUp():
            extra: dict[str, Any] = {"quota": error.quota, "limit": error.limit, "used": error.used}
            if error.retry_after_seconds is None:
                return _conflict("quota_used_up", error, **extra)
            return Problem("too_much_pending", str(error), extra=extra, again_seconds=error.retry_after_seconds)
        case KeyTaken():
            entry = FieldError("idempotency_key", "taken", str(error))
            extra = {"job_id": str(error.job_id)}
            return Problem("idempotency_key_taken", str(error), errors=[entry], extra=extra)
        case KeyInUse():
            return Problem("idempotency_key_in_use", str(error), again_seconds=1)
        case WrongState() | WrongOperationState():
            return _conflict("wrong_state", error, state=_state_of(error))
        case ClaimLost():
            return _conflict("claim_lost", error, state=error.status, job_id=str(error.job_id))
        case TimersAway():
            return Problem("redis_away", str(error), again_seconds=2)
        case VersionConflict():
            entry = FieldError("version", "stale", str(error))
            return _conflict("version_conflict", error, errors=[entry], state=error.status, version=error.version)
        case NameTaken():
            return _conflict("name_taken", error, errors=[FieldError("name", "taken", str(error))])
        case StaleKey() | StaleSeries():
            entry = FieldError("version", "stale", str(error))
            return _conflict("version_conflict", error, errors=[entry], version=error.version)
        case JobDeleted():
            return _conflict("job_deleted", error, job_id=str(error.job_id))
        case KeyResolved():
            return _conflict("resolved", error, errors=[FieldError("biz_id", "resolved", str(error))])
        case AlreadyAnswered():
            job = None if error.job_id is None else str(error.job_id)
            return _conflict("answered", error, outcome=error.outcome, answered_at=error.at.isoformat(), job_id=job)
        case LinkOver():
            return Problem("link_over", str(error), extra={"why": error.why})
        case OneIsLive():
            extra = {} if error.job_id is None else {"job_id": str(error.job_id)}
            return _conflict("one_is_live", error, errors=[FieldError("biz_id", "taken", str(error))], **extra)
        case NotFirst():
            return _conflict("not_first", error, job_id=str(error.first_id))
        case SeveralJobs():
            return _conflict("several_jobs", error, ids=[str(found) for found in error.ids])
        case JobNotFound() | LinkNotFound() | OperationNotFound() | SeriesNotFound() | Http404():
            return Problem("not_found", str(error) or "It does not exist.")
        case APIException():
            return _problem_of_framework(error)
        case SuspiciousOperation() | BadRequest():
            return malformed_request(error)
    return None


def _limits_of(error: TooManyInserts) -> list[InsertLimit]:
    if error.rate_per_second is None:
        return []
    return [InsertLimit(error.biz_type, error.rate_per_second, error.burst, 0, error.retry_after_seconds)]


def _state_of(error: WrongState | WrongOperationState) -> str:
    return error.status if isinstance(error, WrongState) else error.state


def _problem_of_framework(error: APIException) -> Problem:
    """The problem document of an error of REST framework, or of a class that a project has given a view set."""
    detail, headers, again = str(error.detail), {}, None
    match error:
        case NotAuthenticated() | AuthenticationFailed():
            code = "unauthorized"
            if challenge := getattr(error, "auth_header", None):
                headers["WWW-Authenticate"] = challenge
        case PermissionDenied():
            code = "forbidden"
        case Throttled():
            code, again = "throttled", getattr(error, "wait", None) or 1
        case MethodNotAllowed():
            code = "method_not_allowed"
        case NotAcceptable():
            code, detail = "not_acceptable", "The API answers in JSON only."
        case _:
            code = "invalid"
    return Problem(code, detail, headers=headers, again_seconds=again, own_status=error.status_code)


def _conflict(code: str, error: Exception, *, errors: list[FieldError] | None = None, **extra: Any) -> Problem:
    return Problem(code, str(error), errors=errors or (), extra=extra)


def limit_headers(limits: Sequence[InsertLimit]) -> dict[str, str]:
    """The headers of an answer; none where no limit decided. Each limit is named by its biz type's code.

    A limit is a bucket: so many jobs at once, which come back at the rate. Its window is how long an empty one takes to
    be full again.
    """
    if not limits:
        return {}
    policies, left = [], []
    for limit in limits:
        window = max(1, ceil(limit.burst / limit.rate_per_second))
        policies.append(f'"{limit.biz_type}";q={limit.burst};w={window}')
        left.append(f'"{limit.biz_type}";r={limit.left};t={ceil(limit.more_in_seconds)}')
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(left)}
