"""Counts the pending jobs ahead, by stretches of time: in the index of pending rows, without the rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Transition
from tasksapp.sql.long_statement import long_statement, read_time
from tasksapp.sql.sum_upcoming import stretch_number

_PENDING = Transition.CLAIM.source

_COUNT = """
SELECT biz_type_id, {number} AS stretch, COUNT(*), MIN(next_run_at), MAX(next_run_at)
FROM delayhub_job WHERE status = '{pending}' AND next_run_at >= %s AND next_run_at < %s
GROUP BY biz_type_id, stretch
"""


class CountedStretch(NamedTuple):
    """The jobs of one biz type that run in one stretch of time, and when the first and the last of them do."""

    biz_type_id: int
    number: int
    jobs: int
    first_at: datetime | None
    last_at: datetime | None


def count_upcoming(
    *, begin: datetime, end: datetime, seconds: int, using: str, timeout_seconds: float
) -> list[CountedStretch]:
    """The jobs that run from ``begin`` on and before ``end``; of stretches without any there is no row.

    Raises OperationalError where PostgreSQL takes longer than the timeout.

    Args:
        begin: where the first stretch begins.
        end: no later job is counted.
        seconds: the length of a stretch.
        using: the database.
        timeout_seconds: for PostgreSQL.
    """
    connection = connections[using]
    first, last = (connection.ops.adapt_datetimefield_value(at) for at in (begin, end))
    statement = _COUNT.format(number=stretch_number("next_run_at", vendor=connection.vendor), pending=_PENDING)
    with long_statement(using=using, timeout_seconds=timeout_seconds) as cursor:
        cursor.execute(statement, [first, seconds, first, last])
        rows: Sequence[tuple[int, int, int, datetime, datetime]] = cursor.fetchall()
    return [
        CountedStretch(biz_type, number, jobs, read_time(first), read_time(last))
        for biz_type, number, jobs, first, last in rows
    ]
