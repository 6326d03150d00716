"""What the verbs refuse, as problem documents."""

from __future__ import annotations

import logging
import math
from typing import Any

from django.http import Http404, HttpResponse
from rest_framework.exceptions import APIException, MethodNotAllowed, NotAcceptable

from tasksapp.api.http.problems import FieldError, Problem, Refused, internal_error
from tasksapp.errors import (
    InvalidJob,
    JobNotFound,
    KeyTaken,
    SeveralJobs,
    TooManyInserts,
    VersionConflict,
    WrongState,
)

logger = logging.getLogger(__name__)


def problem_of(error: Exception) -> Problem | None:  # noqa: PLR0911  a table of errors
    """The problem document for an error that a caller can do something about; None for our own failures."""
    match error:
        case Refused():
            return error.problem
        case InvalidJob():
            entry = FieldError(error.field, error.code, error.message)
            return Problem(status=400, code="invalid", detail=error.message, errors=[entry])
        case TooManyInserts():
            seconds = max(1, math.ceil(error.retry_after_seconds))
            return Problem(
                status=429, code="too_many_inserts", detail=str(error), headers={"Retry-After": str(seconds)}
            )
        case KeyTaken():
            entry = FieldError("idempotency_key", "taken", str(error))
            return _conflict("idempotency_key_taken", error, errors=[entry], job_id=str(error.job_id))
        case WrongState():
            return _conflict("wrong_state", error, state=error.status)
        case VersionConflict():
            entry = FieldError("version", "stale", str(error))
            return _conflict("version_conflict", error, errors=[entry], state=error.status, version=error.version)
        case SeveralJobs():
            return _conflict("several_jobs", error, ids=[str(found) for found in error.ids])
        case JobNotFound() | Http404():
            return Problem(status=404, code="not_found", detail=str(error) or "There is no such thing.")
        case MethodNotAllowed():
            return Problem(status=405, code="method_not_allowed", detail=str(error.detail))
        case NotAcceptable():
            return Problem(status=406, code="not_acceptable", detail="Only JSON is spoken here.")
        case APIException():
            return Problem(status=error.status_code, code="invalid", detail=str(error.detail))
    return None


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler: every error is a problem document, ours are logged."""
    problem = problem_of(error)
    if problem is None:
        logger.error("%s failed", context["request"].path, exc_info=error)
        problem = internal_error()
    response = problem.response()
    if problem.status == 405:
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def _conflict(code: str, error: Exception, *, errors: list[FieldError] | None = None, **extra: Any) -> Problem:
    return Problem(status=409, code=code, detail=str(error), errors=errors or (), extra=extra)


def sentence(text: str) -> str:
    """The text with a full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
