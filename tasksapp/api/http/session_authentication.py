"""People who are logged in to the site may use the API: by their session, with a CSRF token for what changes anything.

Their scopes come from their permissions; see :class:`tasksapp.access.session_callers.SessionCaller`.
"""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.request import Request

from tasksapp.access.session_callers import SessionCaller
from tasksapp.api.http.authentication import CHALLENGE
from tasksapp.api.http.problems import Problem, Refused


class SessionAuthentication(BaseAuthentication):
    """Authenticates a request by the session of a user of Django, where it names no key."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """The user as a caller; None where a key was sent, or where the session has no user.

        Raises Refused (403) where the request would change something and has no CSRF token: another site could have
        made the person's browser send it.
        """
        if "HTTP_AUTHORIZATION" in request.META:
            return None
        user = getattr(request._request, "user", None)
        if user is None or not user.is_authenticated or not user.is_active:
            return None
        _check_csrf(request)
        return SessionCaller(user), None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401, which asks for a key."""
        del request
        return CHALLENGE


def _check_csrf(request: Request) -> None:
    check: Any = CSRFCheck(lambda _: None)  # type: ignore[arg-type]  # it is asked for its reason only
    check.process_request(request)
    reason = check.process_view(request, None, (), {})
    if reason:
        detail = f"A request by the session of a person needs the header X-CSRFToken: {reason}"
        raise Refused(Problem(status=403, code="csrf_failed", detail=detail))
