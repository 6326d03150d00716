"""Callers identify themselves by an API key: ``Authorization: Bearer dh_…``."""

from __future__ import annotations

import math

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tasksapp.access.callers import Caller, find_caller
from tasksapp.access.keys import count_wrong_key
from tasksapp.api.http.client_address import client_address, client_ip
from tasksapp.api.http.problems import FieldError, Problem, Refused

#: What a 401 names as the scheme to use.
CHALLENGE = 'Bearer realm="delayhub"'
#: One sentence for all of these: who guesses learns nothing from it.
UNKNOWN = "That API key is not known, or it is disabled or has expired."


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates a request by the API key in its Authorization header."""

    def authenticate(self, request: HttpRequest | Request) -> tuple[Caller, None]:
        """The caller.

        Raises Refused where the key is missing, unknown, disabled or expired (401), and where its address has sent too
        many wrong ones (429). A right key is never refused.
        """
        scheme, _, key = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise unauthorized("Send your API key as `Authorization: Bearer dh_…`.")
        caller = find_caller(key.strip(), used_from=lambda: client_ip(request))
        if caller is None:
            wait = count_wrong_key(client_address(request))
            raise _too_many(wait) if wait else unauthorized(UNKNOWN)
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        del request
        return CHALLENGE


def unauthorized(detail: str) -> Refused:
    """The refusal of a caller that is not known (401)."""
    error = FieldError(None, "unauthorized", detail)
    headers = {"WWW-Authenticate": CHALLENGE}
    return Refused(Problem(status=401, code="unauthorized", detail=detail, errors=[error], headers=headers))


def _too_many(wait_seconds: float) -> Refused:
    detail = (
        "That API key is not known, or it is disabled or has expired, and your address has sent too many such keys. "
        "Send no more of them until the time in Retry-After; a right key passes at once."
    )
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return Refused(Problem(status=429, code="too_many_wrong_keys", detail=detail, headers=headers))
