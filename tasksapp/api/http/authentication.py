"""Callers identify themselves by an API key: ``Authorization: Bearer dh_…``."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tasksapp.access.callers import Caller, find_caller
from tasksapp.api.http.problems import FieldError, Problem, Refused

#: What a 401 names as the scheme to use.
CHALLENGE = 'Bearer realm="delayhub"'


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates a request by the API key in its Authorization header."""

    def authenticate(self, request: HttpRequest | Request) -> tuple[Caller, None]:
        """The caller. Raises Refused (401) where the key is missing, unknown or disabled."""
        scheme, _, key = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise _refused("Send your API key as `Authorization: Bearer dh_…`.")
        caller = find_caller(key.strip())
        if caller is None:
            raise _refused("That API key is not known, or it is disabled.")
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        del request
        return CHALLENGE


def _refused(detail: str) -> Refused:
    error = FieldError(None, "unauthorized", detail)
    headers = {"WWW-Authenticate": CHALLENGE}
    return Refused(Problem(status=401, code="unauthorized", detail=detail, errors=[error], headers=headers))
