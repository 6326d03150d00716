"""What all views of the API share with every answer: its request's id, no cache, and no transaction around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse

from delayhub.request_ids import current_request_id, request_id

HEADER = "X-Request-Id"
#: Where Django has the caller's own.
_META = "HTTP_X_REQUEST_ID"

#: Caches on the way heed ``no-store``. The cache middleware of older Django heeds only ``private``; it would give the
#: answer to the next client that asks, with or without a key.
UNCACHED = "private, no-store"

View = Callable[..., HttpResponse]


def served(view: View) -> Any:
    """The view as the API serves it: identified, uncached, and outside of ``ATOMIC_REQUESTS``."""
    return outside(identified(uncached(view)))


def outside(view: Any) -> Any:
    """The view, outside of ``ATOMIC_REQUESTS`` on every database: a router may put jobs on any one of them.

    Each verb has a transaction of its own, and arms timers when that commits.
    """
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


def uncached(view: View) -> View:
    """The view, whose answers no cache may store."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response.headers["Cache-Control"] = UNCACHED
        return response

    return answer


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
