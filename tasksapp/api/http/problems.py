"""Errors as problem documents (RFC 9457), also for addresses that no view answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.views import defaults

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a request: its field (None: the whole request), a code for machines and a sentence for people."""

    field: str | None
    code: str
    message: str

    def as_json(self) -> dict[str, Any]:
        return {"field": self.field, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem document, and the status and headers that it is sent with.

    Args:
        status: the HTTP status.
        code: the kind of problem; its type URI ends with it.
        detail: a sentence for people.
        errors: the faults, where there are several or they belong to fields.
        extra: members that only this kind of problem has, such as the state that won a conflict.
        headers: HTTP headers.
    """

    status: int
    code: str
    detail: str
    errors: Sequence[FieldError] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The document; ``errors`` has at least one entry."""
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
    """Raised where a request is refused; the exception handler answers with the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """``handler404`` of a project: a problem document below the API's prefix, Django's page elsewhere."""
    if _is_below_api(request.path):
        return Problem(status=404, code="not_found", detail=f"There is nothing at {request.path}.").response()
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """``handler500`` of a project: a problem document below the API's prefix, Django's page elsewhere."""
    if _is_below_api(request.path):
        return internal_error().response()
    return defaults.server_error(request)


def internal_error() -> Problem:
    """The problem document of an error on our side. It has no details, which could help an attacker."""
    return Problem(status=500, code="internal_error", detail="Something failed on our side; it has been logged.")


def _is_below_api(path: str) -> bool:
    """Whether the path is below the prefix that the project's URL conf gives the API."""
    try:
        # The schema is directly below the prefix.
        return path.startswith(urljoin(reverse("delayhub:schema"), "."))
    except NoReverseMatch:
        return False
