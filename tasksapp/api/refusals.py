"""Errors of the verbs, of DRF and of our own readers as problem documents."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from tasksapp.api.problems import FieldError, Problem, Refused, internal_error
from tasksapp.errors import (
    InvalidJob,
    JobError,
    JobNotFound,
    KeyTaken,
    SeveralJobs,
    TooManyInserts,
    VersionConflict,
    WrongState,
)

logger = logging.getLogger(__name__)


def problem_of(error: JobError) -> Problem:
    """The refusal that a verb's error is to a caller."""
    detail = sentence(str(error))
    match error:
        case InvalidJob(field=field, code=code):
            return Problem(status=400, code="invalid", detail=detail, errors=[FieldError(field, code, detail)])
        case JobNotFound():
            return Problem(status=404, code="not_found", detail=detail)
        case TooManyInserts(retry_after_seconds=wait):
            headers = {"Retry-After": str(max(1, math.ceil(wait)))}
            return Problem(status=429, code="too_many_inserts", detail=detail, headers=headers)
        case KeyTaken(job_id=job_id):
            error_of_key = FieldError("idempotency_key", "taken", detail)
            return Problem(
                status=409, code="key_taken", detail=detail, errors=[error_of_key], extra={"job_id": str(job_id)}
            )
        case SeveralJobs(ids=ids):
            return Problem(status=409, code="several_jobs", detail=detail, extra={"ids": [str(id_) for id_ in ids]})
        case WrongState(status=status):
            return Problem(status=409, code="wrong_state", detail=detail, extra={"state": str(status)})
        case VersionConflict(status=status, version=version):
            extra = {"state": str(status), "version": version}
            return Problem(status=409, code="version_conflict", detail=detail, extra=extra)
    return internal_error()


def answer_to(error: Exception, context: Mapping[str, Any] | None = None) -> HttpResponse | None:
    """DRF's ``EXCEPTION_HANDLER``: the problem document; None for what is nobody's fault but ours."""
    match error:
        case Refused(problem=problem):
            return problem.response()
        case JobError():
            return problem_of(error).response()
        case Http404():
            return Problem(status=404, code="not_found", detail="There is no such thing.").response()
        case PermissionDenied():
            return Problem(status=403, code="forbidden", detail="That is not allowed.").response()
        case exceptions.ValidationError():
            return invalid(error).response()
        case exceptions.APIException():
            code = str(error.default_code)
            return Problem(status=error.status_code, code=code, detail=sentence(str(error.detail))).response()
    return None


def invalid(error: exceptions.ValidationError) -> Problem:
    """DRF's complaints, each with its field."""
    detail = error.detail
    named: Mapping[str, Any] = detail if isinstance(detail, dict) else {"": detail}
    errors = [
        FieldError(field or None, getattr(message, "code", "invalid"), sentence(str(message)))
        for field, messages in named.items()
        for message in (messages if isinstance(messages, list) else [messages])
    ]
    return Problem(status=400, code="invalid", detail=errors[0].message if errors else "Invalid.", errors=errors)


def sentence(text: str) -> str:
    """The text with a capital and a full stop, unless it begins with a field's name."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
