"""A deadline for what a page reads: the database gives up in time, and goes on with its work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connections, transaction

#: SQLSTATE of a statement that was cancelled, and how often SQLite looks at the clock, in steps of its machine.
_CANCELLED = "57014"
_STEPS = 10_000


class TookTooLong(OperationalError):
    """The statement was ended, since it took longer than it may."""


@contextmanager
def within(seconds: float, *, using: str) -> Iterator[None]:
    """Ends each statement of the block that takes longer. Raises TookTooLong; nothing of the block is kept then.

    In PostgreSQL by ``statement_timeout``, for this transaction only, so that it also works behind a pooler. In SQLite
    by a function that it calls now and then.
    """
    if connections[using].vendor == "postgresql":
        bound = _by_timeout(seconds, using=using)
    else:
        bound = _by_progress(seconds, using=using)
    with bound:
        yield


@contextmanager
def _by_timeout(seconds: float, *, using: str) -> Iterator[None]:
    connection = connections[using]
    was_open = connection.in_atomic_block
    try:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(max(1, round(seconds * 1000)))])
            yield
            if was_open:
                # The caller's transaction goes on.
                cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != _CANCELLED:
            raise
        raise TookTooLong from error


@contextmanager
def _by_progress(seconds: float, *, using: str) -> Iterator[None]:
    connection = connections[using]
    connection.ensure_connection()
    end = time.monotonic() + seconds
    connection.connection.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
    try:
        yield
    except OperationalError as error:
        if str(error) != "interrupted":
            raise
        raise TookTooLong from error
    finally:
        connection.connection.set_progress_handler(None, _STEPS)
