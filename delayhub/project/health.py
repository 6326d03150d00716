"""What load balancers ask: is the process alive, and can it serve?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from delayhub.errors import OptionError
from delayhub.redis_url import redis_url

_TIMEOUT_SECONDS = 1.0


def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers; touches nothing else."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, else 503.

    Redis is reported but does not take the process out of service: jobs are created without it, and
    the loader arms them when it is back.
    """
    database = _outcome(_ask_database)
    report = {"database": database, "redis": _outcome(_ask_redis)}
    return JsonResponse(report, status=200 if database == "ok" else 503)


def _outcome(ask: Callable[[], None]) -> str:
    try:
        ask()
    except (DatabaseError, redis.RedisError, OSError, OptionError) as error:
        return type(error).__name__
    return "ok"


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_redis() -> None:
    _redis(settings.BROKER_URL).ping()


@cache
def _redis(broker_url: str) -> redis.Redis:
    return redis.Redis.from_url(
        redis_url(broker_url), socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS, protocol=2
    )
