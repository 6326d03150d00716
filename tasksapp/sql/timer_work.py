"""TimerWork: what a turn of the loader finds to do. Mostly that is nothing, and it costs one statement to know."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Operation, Transition
from tasksapp.sql.biz_type_revision import COLUMN
from tasksapp.sql.driver.look import Look

_PENDING, _RUNNING = Transition.CLAIM.source, Transition.LOSE.source
_OPEN = ", ".join(
    f"'{state.value}'" for state in (Operation.State.PLANNING, Operation.State.PLANNED, Operation.State.RUNNING)
)


def _first(column: str, rows: str) -> str:
    """Whether there are such rows, by the first of them in the order of an index.

    An EXISTS reads the whole table for each biz type without such rows, wherever statistics know few biz types.
    """
    return f"(SELECT {column} FROM {rows} ORDER BY {column} LIMIT 1) IS NOT NULL"  # noqa: S608  our own texts


_PENDING_ROWS = f"delayhub_job j WHERE j.biz_type_id = b.id AND j.status = '{_PENDING}'"
_DUE_SERIES = "delayhub_series s JOIN delayhub_biz_type e ON e.id = s.biz_type_id WHERE e.enabled AND e.moved_to = ''"
_LOOK = f"""
SELECT b.id, {{revision}},
    {_first("j.next_run_at", f"{_PENDING_ROWS} AND j.next_run_at > {{after}} AND j.next_run_at <= {{until}}")},
    {_first("j.next_run_at", f"{_PENDING_ROWS} AND j.next_run_at <= {{overdue}}")},
    {_first("j.lease_until", f"delayhub_job j WHERE j.status = '{_RUNNING}' AND j.lease_until < {{now}}")},
    {_first("s.make_at", f"{_DUE_SERIES} AND s.make_at <= {{now}}")},
    {_first("s.id", "delayhub_series s WHERE s.live_job IS NOT NULL")},
    EXISTS (SELECT 1 FROM delayhub_paused_key p WHERE p.until > {{now}}),
    EXISTS (SELECT 1 FROM delayhub_operation o WHERE o.state IN ({_OPEN}))
FROM delayhub_biz_type b
"""  # noqa: S608  our own constants
_TIMER_WORK = Look(
    _LOOK,
    moments=("after", "until", "overdue", "now"),
    postgresql={"revision": f"b.{COLUMN}"},
    other={"revision": "NULL"},
)


class TimerWork(NamedTuple):
    """What there is to do at one moment.

    Args:
        until: the end of the near window.
        revisions: of all biz types, by their ids: that of the row; None where the database has none.
        entering: the ids of those with rows that enter the near window.
        overdue: the ids of those with overdue rows.
        lost: whether leases have ended.
        series: whether jobs of series are to be made.
        live_jobs: whether a series has a live job, whose end may have come without a word.
        paused_keys: whether any flow key is paused.
        operations: whether any operation is open.
    """

    until: datetime
    revisions: dict[int, int | None]
    entering: frozenset[int]
    overdue: frozenset[int]
    lost: bool
    series: bool
    live_jobs: bool
    paused_keys: bool
    operations: bool


def timer_work(
    *, now: datetime, after: datetime | None, until: datetime, overdue_since: datetime, using: str
) -> TimerWork:
    """What there is to do, by one statement: one for each biz type would take a worker 2 ms a second for each.

    Args:
        now: Redis' time.
        after: where the window ended before; None for no lower end.
        until: where it ends now.
        overdue_since: pending rows that should have run by then are overdue.
        using: the database.
    """
    rows = _TIMER_WORK.rows(connections[using], after=after, until=until, overdue=overdue_since, now=now)
    return TimerWork(
        until,
        {row[0]: row[1] for row in rows},
        frozenset(row[0] for row in rows if row[2]),
        frozenset(row[0] for row in rows if row[3]),
        # Each row says them; a site without biz types has none of these.
        *(map(bool, rows[0][4:]) if rows else [False] * 5),
    )
