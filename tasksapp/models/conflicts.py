"""Repeating what met another transaction: it has changed nothing, and passes a moment later."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import DatabaseError, connections

from tasksapp.models.database_faults import READ_ONLY, is_conflict, is_lock_timeout, sqlstate_of

P = ParamSpec("P")
R = TypeVar("R")

#: Tries of one call, and the longest pause after the first; each pause may be twice as long as the one before.
TRIES = 6
FIRST_PAUSE_SECONDS = 0.01
#: SQLite refuses at once what would wait for itself, and else waits for its timeout: then another try waits in vain.
AT_ONCE_SECONDS = 1.0
#: What an error has that was repeated already, so that calls within each other do not multiply their tries.
_REPEATED = "delayhub_repeated"


def repeated(call: Callable[P, R]) -> Callable[P, R]:
    """Return the call, which is made again where the database refused it for another transaction, or as a standby.

    All that the call writes has to be one transaction, so that a try that fails has written nothing. Within the
    caller's transaction it is made once: only the caller can repeat that. To a standby there is one more try, on the
    new connection.
    """

    @wraps(call)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for number in range(1, TRIES):
            began = time.monotonic()
            try:
                return call(*args, **kwargs)
            except DatabaseError as error:
                if getattr(error, _REPEATED, False) or _in_transaction():
                    raise
                if not is_conflict(error):
                    is_standby = sqlstate_of(error) == READ_ONLY and number == 1
                    if not is_standby and not _was_refused_at_once(error, seconds=time.monotonic() - began):
                        raise
            # Full jitter: those that met do not meet again.
            time.sleep(random.uniform(0, FIRST_PAUSE_SECONDS * 2**number))  # noqa: S311  no secret
        try:
            return call(*args, **kwargs)
        except DatabaseError as error:
            setattr(error, _REPEATED, True)
            raise

    return run


def _in_transaction() -> bool:
    return any(connection.in_atomic_block for connection in connections.all(initialized_only=True))


def _was_refused_at_once(error: DatabaseError, *, seconds: float) -> bool:
    """Return True for a lock of SQLite's that was not waited for."""
    return sqlstate_of(error) is None and is_lock_timeout(error) and seconds < AT_ONCE_SECONDS
