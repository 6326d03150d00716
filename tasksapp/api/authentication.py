"""Who calls: ``Authorization: Bearer <API key>``."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tasksapp.api.problems import Problem, Refused
from tasksapp.api_keys import known_keys
from tasksapp.models import ApiKey


class ApiCaller:
    """What DRF calls a user: the holder of an API key."""

    is_authenticated = True

    def __init__(self, key: ApiKey) -> None:
        self.name = key.name
        self.pk = key.pk


class ApiKeyAuthentication(BaseAuthentication):
    """Lets in whoever holds an enabled key."""

    def authenticate(self, request: Request) -> tuple[ApiCaller, ApiKey]:
        """The caller and the key; Refused (401) without a good one."""
        key = require_key(request.META)
        return ApiCaller(key), key

    def authenticate_header(self, request: Request) -> str:
        """What a 401 says of how to do it."""
        return "Bearer"


def require_key(headers: dict[str, Any]) -> ApiKey:
    """The key in a request's headers (WSGI's names); Refused (401) where there is none or it is not good."""
    scheme, _, key = headers.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise refused("Name yourself: Authorization: Bearer <API key>.")
    found = known_keys.find(key.strip())
    if found is None:
        raise refused("That API key is not valid.")
    return found


def refused(detail: str) -> Refused:
    """A 401."""
    return Refused(Problem(status=401, code="not_authenticated", detail=detail, headers={"WWW-Authenticate": "Bearer"}))
