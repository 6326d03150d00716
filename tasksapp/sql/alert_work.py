"""AlertWork: what a turn of watching finds to judge. Mostly that is nothing, and it costs one statement to know."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Pulse
from tasksapp.sql.biz_type_revision import COLUMN
from tasksapp.sql.driver.look import Look
from tasksapp.sql.pulses import MINUTE

_COUNTS = "delayhub_job_count c WHERE c.counted_at >= {counted_since}"
_DEATHS = f"delayhub_pulse p WHERE p.span_seconds = {MINUTE} AND p.kind = '{Pulse.Kind.DEAD.value}'"
#: A row for each biz type, and one where there is none: messages may wait all the same.
_ALERT_WORK = Look(
    f"""
SELECT b.id, {{revision}},
    EXISTS (SELECT 1 FROM {_COUNTS}),
    EXISTS (SELECT 1 FROM {_COUNTS} AND c.due_now > 0 AND c.oldest_due_at < {{overdue_before}}),
    EXISTS (SELECT 1 FROM {_DEATHS} AND p.at >= {{died_since}})
        OR EXISTS (SELECT 1 FROM delayhub_missing_follow_up f WHERE f.at >= {{died_since}}),
    EXISTS (SELECT 1 FROM delayhub_alert a WHERE a.ended_at IS NULL),
    EXISTS (SELECT 1 FROM delayhub_alert_message m WHERE m.next_at <= {{now}})
FROM (SELECT 1) one LEFT JOIN delayhub_biz_type b ON 1 = 1
""",  # noqa: S608  our own constants
    moments=("counted_since", "overdue_before", "died_since", "now"),
    postgresql={"revision": f"b.{COLUMN}"},
    other={"revision": "NULL"},
)


class AlertWork(NamedTuple):
    """What there is to judge at one moment.

    Args:
        revisions: of all biz types, by their ids: that of the row; None where the database has none.
        counted: whether any count of jobs is fresh.
        overdue: whether one of these has jobs that have been due for too long.
        died: whether any job died lately, or what was to follow from one could not be made.
        has_open: whether any alert is open.
        has_messages: whether any message is to be sent.
    """

    revisions: dict[int, int | None]
    counted: bool
    overdue: bool
    died: bool
    has_open: bool
    has_messages: bool


def alert_work(
    *, now: datetime, counted_since: datetime, overdue_before: datetime, died_since: datetime, using: str
) -> AlertWork:
    """What there is to judge, by one statement. Raises what the database raises.

    Args:
        now: the present.
        counted_since: counts that are older say nothing about now.
        overdue_before: jobs that were due by then are overdue.
        died_since: the first minute whose deaths count.
        using: the database.
    """
    rows = _ALERT_WORK.rows(
        connections[using], now=now, counted_since=counted_since, overdue_before=overdue_before, died_since=died_since
    )
    revisions = {row[0]: row[1] for row in rows if row[0] is not None}
    # Each row says the rest.
    return AlertWork(revisions, *map(bool, rows[0][2:]))
