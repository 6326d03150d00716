"""Counts the live and dead jobs of all biz types: one statement, so that all numbers are of one moment.

Statements that read a whole index have a limit of their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.db import connections
from django.db.backends.utils import CursorWrapper

from tasksapp.models import Transition
from tasksapp.sql.driver.deadline import within
from tasksapp.sql.read_values import read_moment


@contextmanager
def long_statement(*, using: str, timeout_seconds: float) -> Iterator[CursorWrapper]:
    """A cursor for one statement that only reads. Raises TookTooLong where it takes longer than the timeout."""
    with within(timeout_seconds, using=using), connections[using].cursor() as cursor:
        if connections[using].vendor == "postgresql":
            # Another process must not be started for it: the database has other work.
            cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        yield cursor


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

    Raises TookTooLong where that takes longer than the timeout.

    Args:
        clock: gives the present time. It is asked when the statement is about to go: on a busy machine what goes
            before it takes so long that jobs end meanwhile.
        using: the database.
        timeout_seconds: how long the database may count.
    """
    with long_statement(using=using, timeout_seconds=timeout_seconds) as cursor:
        now = clock()
        at = connections[using].ops.adapt_datetimefield_value(now)
        cursor.execute(_COUNT, [at, at])
        rows = cursor.fetchall()
    return now, [
        CountedJobs(status, biz_type, error_class, jobs, read_moment(first), read_moment(last), due)
        for status, biz_type, error_class, jobs, first, last, due in rows
    ]
