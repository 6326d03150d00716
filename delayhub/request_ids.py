"""The id of the request that is being answered, for answers and logs: the caller's own, or a new one."""

from __future__ import annotations

import logging
import random
import re
from contextvars import ContextVar

#: What an id may be: long enough for a UUID or a trace id, and nothing that could begin a line of a log.
_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,127}")

#: The id of the request that this thread or task answers; '' where it answers none.
current_request_id: ContextVar[str] = ContextVar("delayhub_request_id", default="")


def request_id(given: str | None) -> str:
    """The id that a caller sent, if it is fit for logs and headers; else a new one."""
    if given and _SANE.fullmatch(given):
        return given
    return f"{random.getrandbits(64):016x}"


class RequestIdFilter(logging.Filter):
    """A filter of the standard library's logging: gives each record ``request_id``, '' outside of requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass."""
        record.request_id = current_request_id.get()
        return True
