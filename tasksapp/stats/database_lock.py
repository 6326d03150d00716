"""The lock in the database that keeps everybody from the jobs."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Job

#: The oldest lock on the table that keeps creates waiting, by the table of conflicts in PostgreSQL's manual. A look at
#: it waits for no lock itself.
_HOLDER = """
SELECT locks.pid, activity.xact_start, activity.application_name
FROM pg_locks AS locks JOIN pg_stat_activity AS activity USING (pid)
WHERE locks.relation = to_regclass(%s) AND locks.granted AND locks.pid <> pg_backend_pid()
    AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND locks.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    AND activity.xact_start < clock_timestamp() - make_interval(secs => %s)
ORDER BY activity.xact_start LIMIT 1
"""
#: A lock that is held for a shorter time, such as by a migration that adds a column, is not worth a word.
NOTED_SECONDS = 1.0


class TableLock(NamedTuple):
    """A lock that keeps every create of a job waiting.

    Args:
        pid: the process of PostgreSQL that holds it.
        since: when its transaction began.
        application: what its connection calls itself.
    """

    pid: int
    since: datetime
    application: str


def lock_on_jobs(*, using: str) -> TableLock | None:
    """The lock on the table of jobs for which creates wait; None where there is none, and for SQLite."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(_HOLDER, [Job._meta.db_table, NOTED_SECONDS])
        row = cursor.fetchone()
    return None if row is None else TableLock(*row)
