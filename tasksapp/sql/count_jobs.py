"""Counts the live and dead jobs of all biz types: one statement, so that all numbers are of one moment.

Statements that read a whole index have a limit of their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.dateparse import parse_datetime

from tasksapp.models import Transition


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


_PENDING, _RUNNING, _DEAD = Transition.CLAIM.source, Transition.CLAIM.target, Transition.GIVE_UP.target

#: PostgreSQL and SQLite both. Pending and dead rows are counted in their indexes, without their rows.
_COUNT = f"""
SELECT '{_PENDING}' AS status, biz_type_id, '' AS error_class, COUNT(*), MIN(next_run_at),
    MIN(CASE WHEN next_run_at > %s THEN next_run_at END), COUNT(CASE WHEN next_run_at <= %s THEN 1 END)
FROM delayhub_job WHERE status = '{_PENDING}' GROUP BY biz_type_id
UNION ALL
SELECT '{_RUNNING}', biz_type_id, '', COUNT(*), NULL, NULL, 0
FROM delayhub_job WHERE status = '{_RUNNING}' GROUP BY biz_type_id
UNION ALL
SELECT '{_DEAD}', biz_type_id, error_class, COUNT(*), MIN(finished_at), MAX(finished_at), 0
FROM delayhub_job WHERE status = '{_DEAD}' GROUP BY biz_type_id, error_class
"""  # noqa: S608  our own constants


class CountedJobs(NamedTuple):
    """The jobs of one biz type in one status, and the dead ones of one error class.

    Args:
        status: pending, running or dead.
        biz_type_id: the biz type.
        error_class: of dead jobs, the kind of their error.
        jobs: how many.
        first_at: of pending jobs, when the first is to run; of dead ones, when the first died.
        last_at: of pending jobs, when the first is to run whose time has not come; of dead ones, when the last died.
        due: of pending jobs, those whose time has come.
    """

    status: str
    biz_type_id: int
    error_class: str
    jobs: int
    first_at: datetime | None
    last_at: datetime | None
    due: int


def count_jobs(
    *, clock: Callable[[], datetime], using: str, timeout_seconds: float
) -> tuple[datetime, list[CountedJobs]]:
    """A moment, and all live and dead jobs at that moment.

    Raises OperationalError where PostgreSQL takes longer than the timeout.

    Args:
        clock: gives the present time. It is asked when the statement is about to go: on a busy machine what goes
            before it takes so long that jobs end meanwhile.
        using: the database.
        timeout_seconds: for PostgreSQL.
    """
    with long_statement(using=using, timeout_seconds=timeout_seconds) as cursor:
        now = clock()
        at = connections[using].ops.adapt_datetimefield_value(now)
        cursor.execute(_COUNT, [at, at])
        rows = cursor.fetchall()
    return now, [
        CountedJobs(status, biz_type, error_class, jobs, read_time(first), read_time(last), due)
        for status, biz_type, error_class, jobs, first, last, due in rows
    ]
