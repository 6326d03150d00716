"""Errors as problem documents (RFC 9457), the same for plain views, DRF views and unknown addresses."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import defaults

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong: the field it is about (None: the whole request), a code for machines, a sentence for people."""

    field: str | None
    code: str
    message: str

    def as_json(self) -> dict[str, Any]:
        return {"field": self.field, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A refusal, ready to be sent.

    `code` names the kind of problem and ends its type URI; `extra` are members of this problem alone,
    such as the state that won a conflict.
    """

    status: int
    code: str
    detail: str
    errors: Sequence[FieldError] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The document; `errors` always has at least one entry."""
        errors = self.errors or (FieldError(None, self.code, self.detail),)
        return {
            "type": f"urn:delayhub:problem:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "errors": [error.as_json() for error in errors],
            **self.extra,
        }

    def response(self) -> HttpResponse:
        """The document as an HTTP response."""
        return HttpResponse(
            json.dumps(self.as_json()), status=self.status, content_type=MEDIA_TYPE, headers=dict(self.headers)
        )


class Refused(Exception):
    """Carries a problem up to whoever answers the request."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404`` of a project: a problem document below ``/api/``, Django's page elsewhere."""
    if request.path.startswith("/api/"):
        return Problem(status=404, code="not_found", detail=f"There is nothing at {request.path}.").response()
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500`` of a project: a problem document below ``/api/``, Django's page elsewhere."""
    if request.path.startswith("/api/"):
        return internal_error().response()
    return defaults.server_error(request)


def internal_error() -> Problem:
    """What a caller is told of our own failures: nothing that helps an attacker."""
    return Problem(status=500, code="internal_error", detail="Something failed on our side; it has been logged.")
