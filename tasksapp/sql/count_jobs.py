"""Counts the live and dead jobs of all biz types: one statement, so that all numbers are of one moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Transition
from tasksapp.sql.long_statement import long_statement, read_time

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
