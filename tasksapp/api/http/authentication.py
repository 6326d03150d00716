"""Callers name themselves by an API key: ``Authorization: Bearer dh_…``."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from tasksapp.api.http.problems import FieldError, Problem, Refused
from tasksapp.models import ApiKey

#: Seconds that a key is known without asking the database; as long does a disabled key go on to work.
KNOWN_SECONDS = 30.0
#: How exact ``last_used_at`` is.
USED_EVERY = timedelta(minutes=1)


class Caller(NamedTuple):
    """Whoever holds a valid key; to DRF, a user that is authenticated."""

    name: str

    @property
    def is_authenticated(self) -> bool:
        return True


_known: dict[str, tuple[Caller, float]] = {}
_lock = threading.Lock()


def caller_of(header: str) -> Caller:
    """The caller that an Authorization header names; anything else is Refused (401)."""
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise refused("Send your API key as `Authorization: Bearer dh_…`.")
    key = key.strip()
    caller, until = _known.get(key, (None, 0.0))
    if caller is not None and until > time.monotonic():
        return caller
    return _look_up(key)


def _look_up(key: str) -> Caller:
    row = ApiKey.objects.owner_of(key)
    if row is None:
        raise refused("That API key is not known, or it is disabled.")
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > USED_EVERY:
        ApiKey.objects.filter(id=row.id).update(last_used_at=now)
    caller = Caller(row.name)
    with _lock:
        if len(_known) > 10_000:
            _known.clear()
        _known[key] = (caller, time.monotonic() + KNOWN_SECONDS)
    return caller


def forget_known_keys() -> None:
    """Asks the database again for every key; for tests."""
    _known.clear()


def refused(detail: str) -> Refused:
    """401, with the scheme that would do."""
    error = FieldError(None, "unauthorized", detail)
    headers = {"WWW-Authenticate": 'Bearer realm="delayhub"'}
    return Refused(Problem(status=401, code="unauthorized", detail=detail, errors=[error], headers=headers))


class ApiKeyAuthentication(BaseAuthentication):
    """The same for DRF's views."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """The caller; Refused where there is none."""
        return caller_of(request.META.get("HTTP_AUTHORIZATION", "")), None

    def authenticate_header(self, request: Request) -> str:
        """What a 401 says would do."""
        del request
        return 'Bearer realm="delayhub"'
