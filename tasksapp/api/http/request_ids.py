"""Gives each request of the API an id, by which callers and the site's operator can speak of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

from delayhub.request_ids import current_request_id, request_id

HEADER = "X-Request-Id"
#: Where Django has the caller's own.
_META = "HTTP_X_REQUEST_ID"

View = Callable[..., HttpResponse]


def identified(view: View) -> View:
    """The view, whose answers, problem documents and log lines have the request's id."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # One request may pass several of these: a view, and the handler of what it raises.
        known: str | None = request.__dict__.get("delayhub_request_id")
        if known is None:
            known = request.__dict__["delayhub_request_id"] = request_id(request.META.get(_META))
        token = current_request_id.set(known)
        try:
            response = view(request, *args, **kwargs)
        finally:
            current_request_id.reset(token)
        response.headers[HEADER] = known
        return response

    return answer
