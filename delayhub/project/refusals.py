"""Refuses a request before Django sees it: a problem document for the API, a line of text elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.utils.module_loading import import_string

from delayhub.request_ids import current_request_id, request_id

#: Both are loaded with the first refusal: the one needs Django set up, and the app is named by dotted string only.
_PREFIXES = "delayhub.project.browser_middleware.api_prefixes"
_PROBLEM = "tasksapp.api.http.problems.Problem"


def refuse(
    environ: Mapping[str, Any],
    start_response: Callable[..., Any],
    *,
    status: int,
    code: str,
    detail: str,
    headers: Mapping[str, str] | None = None,
) -> Iterable[bytes]:
    """The answer of a WSGI application.

    Args:
        environ: the request.
        start_response: what WSGI gives an application.
        status: the HTTP status.
        code: the kind of problem, as the API names it.
        detail: a sentence for people.
        headers: more headers.
    """
    line = f"{status} {HTTPStatus(status).phrase}"
    if not environ.get("PATH_INFO", "").startswith(import_string(_PREFIXES)()):
        start_response(line, [("Content-Type", "text/plain"), *(headers or {}).items()])
        return [f"{detail}\n".encode()]
    known = request_id(environ.get("HTTP_X_REQUEST_ID"))
    token = current_request_id.set(known)
    try:
        response = import_string(_PROBLEM)(status=status, code=code, detail=detail, headers=headers or {}).response()
    finally:
        current_request_id.reset(token)
    start_response(line, [*response.headers.items(), ("X-Request-Id", known)])
    return [response.content]
