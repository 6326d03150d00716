"""What waits for a lock: a statement that was ended for that, and the lock that keeps everybody from the jobs."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import NamedTuple

from django.db import Error, connections

from tasksapp.models import Job

#: SQLSTATE of a statement that has waited for ``lock_timeout``.
_LOCK_NOT_AVAILABLE = "55P03"
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

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


def is_lock_timeout(error: Exception) -> bool:
    """Whether a statement was ended since it waited too long for a lock; it has changed nothing."""
    cause = error.__cause__
    if not isinstance(error, Error):
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _BUSY
    return getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE
