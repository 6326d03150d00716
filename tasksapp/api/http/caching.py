"""Keeps caches from storing what one caller may see."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

#: Caches on the way heed ``no-store``. The cache middleware of older Django heeds only ``private``; it would give the
#: answer to the next client that asks, with or without a key.
UNCACHED = "private, no-store"

View = Callable[..., HttpResponse]


def uncached(view: View) -> View:
    """The view, whose answers no cache may store."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response.headers["Cache-Control"] = UNCACHED
        return response

    return answer
