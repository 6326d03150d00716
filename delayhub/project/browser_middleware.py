"""Django's middleware for people with browsers, which calls of the REST API pass by: a tenth of what a call costs.

The API knows its callers by their keys; it has no session, no cookie to forge and no message to show.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest

API = "/api/v1/"


class _ForBrowsers:
    """Steps aside for the API."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(API):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]  # the middleware's own, after us in the line


class SessionMiddleware(_ForBrowsers, sessions.SessionMiddleware):
    """Sessions."""


class AuthenticationMiddleware(_ForBrowsers, auth.AuthenticationMiddleware):
    """Users."""


class MessageMiddleware(_ForBrowsers, messages.MessageMiddleware):
    """Messages from one page to the next."""
