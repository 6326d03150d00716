"""Long polls: a read that waits until the job changes.

A waiting request keeps a thread of the web server, since WSGI has no other way. So few may wait at once in a process,
``LONG_POLLS``; others are refused at once (429), so that waits never use up the threads that answer. Under ASGI Django
gives each request a thread of its own, and the same bound holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from rest_framework.request import Request

from tasksapp.api.http.authentication import ApiKeyAuthentication, unauthorized
from tasksapp.api.http.problems import Refused, refused
from tasksapp.conf import options

T = TypeVar("T")

#: The longest wait, in seconds. Proxies and clients commonly give up after 60.
MOST_SECONDS = 55
#: How long it pauses between two looks at the row: little at first, since many jobs end soon.
FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 0.1, 1.0, 1.5
#: When those who were refused should ask again.
RETRY_SECONDS = 5

_lock = Lock()
_waiting = 0


def seconds_to_wait(request: Request) -> float:
    """How long the caller would wait for a change; 0 where it does not ask for that. Raises Refused (400)."""
    raw = request.query_params.get("wait")
    if raw is None:
        return 0.0
    if not (raw.isascii() and raw.isdigit() and len(raw) <= 4 and int(raw) <= MOST_SECONDS):
        raise refused("wait", "invalid", f"wait must be a whole number of seconds from 0 to {MOST_SECONDS}")
    return float(raw)


def wait_until(look: Callable[[], T], *, is_over: Callable[[T], bool], seconds: float, request: Request) -> T:
    """What ``look`` gives once it is over, or after so many seconds.

    Raises Refused: 429 where as many requests as may wait are waiting already; 401 where the caller's key is revoked or
    changed meanwhile, which each look finds out.

    Args:
        look: reads what may change; called about once a second.
        is_over: whether what was read is worth answering.
        seconds: how long to wait at most.
        request: the request that waits.
    """
    with room_to_wait(request):
        end = time.monotonic() + seconds
        pause = FIRST_PAUSE
        while True:
            seen = look()
            left = end - time.monotonic()
            if left <= 0 or is_over(seen):
                return seen
            time.sleep(min(pause, left))
            _check_key(request)
            pause = min(pause * GROWTH, LONGEST_PAUSE)


def _check_key(request: Request) -> None:
    """Asks for the caller's key again: who may not read any more waits for nothing. Raises Refused (401)."""
    authenticator = request.successful_authenticator
    if isinstance(authenticator, ApiKeyAuthentication):
        before: Any = request.user
        now, _ = authenticator.authenticate(request)
        if (now.tenant_id, now.scopes, now.biz_type_ids) != (before.tenant_id, before.scopes, before.biz_type_ids):
            raise unauthorized("Your API key was changed while the request waited.")


@contextmanager
def room_to_wait(request: Request) -> Iterator[None]:
    """One of the few places of requests that wait. Raises Refused (429) where all are taken."""
    global _waiting  # noqa: PLW0603  the process's own count, behind its lock
    most = _most(request._request.META)
    with _lock:
        has_room = _waiting < most
        _waiting += has_room
    if not has_room:
        raise _full(most)
    try:
        yield
    finally:
        with _lock:
            _waiting -= 1


def _most(meta: dict[str, Any]) -> int:
    # A process with one thread would answer nothing else meanwhile.
    return options().long_polls if meta.get("wsgi.multithread", True) else 0


def _full(most: int) -> Refused:
    detail = f"{most} requests wait already, which is as many as may in this process: ask without wait, or later."
    return Refused.of("too_many_waits", detail, again_seconds=RETRY_SECONDS)
