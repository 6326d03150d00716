"""Spares a request the round trip of Django's health check where the connection answered a moment ago."""

from __future__ import annotations

import select
import threading
import time
from typing import Any

#: After so many idle seconds a connection is checked as Django does it: something on the way may have dropped it.
TRUSTED_SECONDS = 5.0


class _Answered(threading.local):
    """When each of this thread's connections last answered, by database: the connection itself and the moment."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[Any, float]] = {}


_answered = _Answered()


def trust(connection: Any) -> None:
    """Skips Django's health check of the connection if it answered lately and its socket has no input.

    A server that stopped has closed its end, which makes the socket readable: such a connection is checked in full.
    """
    raw = connection.connection
    if raw is None or connection.vendor != "postgresql" or connection.health_check_done:
        return
    known, moment = _answered.last.get(connection.alias, (None, 0.0))
    if known is raw and time.monotonic() - moment < TRUSTED_SECONDS and _is_quiet(raw.fileno()):
        connection.health_check_done = True


def answered(connection: Any) -> None:
    """Notes that the connection works at this moment."""
    _answered.last[connection.alias] = (connection.connection, time.monotonic())


def _is_quiet(socket: int) -> bool:
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return not poll.poll(0)
