"""What statements share that read a whole index: a limit of their time, and times as the database gives them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.dateparse import parse_datetime


@contextmanager
def long_statement(*, using: str, timeout_seconds: float) -> Iterator[CursorWrapper]:
    """A cursor for one statement that only reads. PostgreSQL ends it after the timeout: OperationalError.

    SQLite has no such limit; there a reader keeps no other statement waiting.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        # Not in a transaction: those of SQLite begin as writers here.
        with connection.cursor() as cursor:
            yield cursor
        return
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {round(timeout_seconds * 1000)}")
        # Another process must not be started for it: the database has other work.
        cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        yield cursor


def read_time(value: datetime | str | None) -> datetime | None:
    """A time of a statement that is not the ORM's: SQLite gives text, in UTC."""
    at = parse_datetime(value) if isinstance(value, str) else value
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
