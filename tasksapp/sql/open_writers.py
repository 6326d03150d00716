"""Open writers: the transactions under way that have written jobs, which nobody else sees before they end."""

from __future__ import annotations

from django.db import connections

from tasksapp.models import Job

#: Foreign keys are checked at the commit: to lock what a row leads to waits for no transaction that has made the row.
_OPEN = """
SELECT virtualtransaction FROM pg_locks
WHERE relation = to_regclass(%s) AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def open_writers(*, using: str) -> set[str]:
    """The names of these transactions, other than the caller's; none for SQLite, which has one writer at a time."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [Job._meta.db_table])
        return {row[0] for row in cursor.fetchall()}
