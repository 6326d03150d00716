"""The pending jobs ahead by stretches of time: counted in the index of pending rows, and the counts summed for charts.

The database sums them: with 200 biz types there are 57 600 counts for one chart of 288 columns.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Transition
from tasksapp.sql.count_jobs import long_statement

#: By the database; ``{column}`` is a time. Two values follow: when the first stretch begins, and the seconds of each.
_NUMBERS = {
    "postgresql": "floor(extract(epoch FROM {column} - %s) / %s)::bigint",
    "sqlite": "CAST((julianday({column}) - julianday(%s)) * 86400.0 / %s + 0.000001 AS INTEGER)",
}


def stretch_number(column: str, *, vendor: str) -> str:
    """The SQL of the number of the stretch in which the column's time lies, counted from the first."""
    return _NUMBERS[vendor].format(column=column)


_SUM = """
SELECT stretch, jobs, biz_types, biz_type_id, most
FROM (
    SELECT stretch, biz_type_id, jobs AS most, SUM(jobs) OVER each AS jobs, COUNT(*) OVER each AS biz_types,
        ROW_NUMBER() OVER (PARTITION BY stretch ORDER BY jobs DESC, biz_type_id) AS place
    FROM (
        SELECT {number} AS stretch, biz_type_id, SUM(jobs) AS jobs
        FROM delayhub_upcoming
        WHERE span_seconds = %s AND at >= %s AND at < %s AND jobs > 0{of_one}
        GROUP BY stretch, biz_type_id
    ) AS sums
    WINDOW each AS (PARTITION BY stretch)
) AS ranked
WHERE place = 1 ORDER BY stretch
"""


class SummedStretch(NamedTuple):
    """The jobs that run in one stretch of time.

    Args:
        number: of the stretch, counted from the first.
        jobs: how many there are.
        biz_types: how many biz types they have.
        biz_type_id: the biz type that has most of them.
        most: how many it has.
    """

    number: int
    jobs: int
    biz_types: int
    biz_type_id: int
    most: int


def sum_upcoming(
    *, begin: datetime, end: datetime, seconds: int, counted_by: int, using: str, biz_type_id: int | None = None
) -> list[SummedStretch]:
    """The jobs of the stretches from ``begin`` on and before ``end``; of stretches without any there is no row.

    Args:
        begin: where the first stretch begins.
        end: no stretch begins then or later.
        seconds: the length of a stretch.
        counted_by: the length of the stretches that the loader counted.
        using: the database.
        biz_type_id: only the jobs of this biz type.
    """
    connection = connections[using]
    first, last = (connection.ops.adapt_datetimefield_value(at) for at in (begin, end))
    number = stretch_number("at", vendor=connection.vendor)
    one = [] if biz_type_id is None else [biz_type_id]
    statement = _SUM.format(number=number, of_one=" AND biz_type_id = %s" if one else "")
    with connection.cursor() as cursor:
        cursor.execute(statement, [first, seconds, counted_by, first, last, *one])
        return [SummedStretch(*map(int, row)) for row in cursor.fetchall()]


_PENDING = Transition.CLAIM.source

_COUNT = """
SELECT biz_type_id, {number} AS stretch, COUNT(*)
FROM delayhub_job WHERE status = '{pending}' AND next_run_at >= %s AND next_run_at < %s
GROUP BY biz_type_id, stretch
"""


class CountedStretch(NamedTuple):
    """The jobs of one biz type that run in one stretch of time."""

    biz_type_id: int
    number: int
    jobs: int


def count_upcoming(
    *, begin: datetime, end: datetime, seconds: int, using: str, timeout_seconds: float
) -> list[CountedStretch]:
    """The jobs that run from ``begin`` on and before ``end``; of stretches without any there is no row.

    Raises TookTooLong where that takes longer than the timeout.

    Args:
        begin: where the first stretch begins.
        end: no later job is counted.
        seconds: the length of a stretch.
        using: the database.
        timeout_seconds: how long the database may count.
    """
    connection = connections[using]
    first, last = (connection.ops.adapt_datetimefield_value(at) for at in (begin, end))
    statement = _COUNT.format(number=stretch_number("next_run_at", vendor=connection.vendor), pending=_PENDING)
    with long_statement(using=using, timeout_seconds=timeout_seconds) as cursor:
        cursor.execute(statement, [first, seconds, first, last])
        return [CountedStretch(*map(int, row)) for row in cursor.fetchall()]
