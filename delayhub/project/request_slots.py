"""RequestSlots: requests that wait for a locked database cannot hold every thread of the web server.

Those that wait have a deadline (``WEB_LOCK_SECONDS``), but as many may come within it as there are threads. So requests
get fewer slots than that, and the threads left over answer probes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Semaphore
from typing import Any

from delayhub.project.body_slots import WSGIApplication
from delayhub.project.refusals import refuse

#: What needs no slot.
PROBES = frozenset({"/livez", "/readyz", "/healthz"})
#: How long a request waits for a slot, which most requests leave in milliseconds.
WAIT_SECONDS = 0.25


class RequestSlots:
    """A WSGI application in which at most so many requests are under way beside probes; others get 503 after 0.25 s.

    Args:
        application: what answers.
        slots: how many; a few less than the server's threads.
    """

    def __init__(self, application: WSGIApplication, *, slots: int) -> None:
        self._application = application
        self._slots = Semaphore(slots)
        self._is_full = False

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answers the request."""
        if environ.get("PATH_INFO") in PROBES:
            return self._application(environ, start_response)
        # Where one request has waited for nothing, those behind it do not: waiting holds a thread, too.
        entered = self._slots.acquire(timeout=0 if self._is_full else WAIT_SECONDS)
        self._is_full = not entered
        if not entered:
            detail = "Too many requests are under way. Nothing was done: try again."
            headers = {"Retry-After": "1"}
            return refuse(environ, start_response, status=503, code="busy", detail=detail, headers=headers)
        try:
            return self._application(environ, start_response)
        finally:
            self._slots.release()
