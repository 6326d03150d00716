"""What the database knows of itself, so that no table is read: how large it is, and who writes jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Job

_POSTGRESQL_TABLES = """
    SELECT relname, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid)
      FROM pg_class
     WHERE relkind = 'r' AND relname LIKE %s AND relnamespace = current_schema()::regnamespace
     ORDER BY 3 DESC
"""
_POSTGRESQL = """
    SELECT current_setting('server_version'), pg_database_size(current_database()),
           (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
           current_setting('max_connections')::int
"""
_SQLITE = (
    "SELECT sqlite_version(), (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())"
)

#: Foreign keys are checked at the commit: to lock what a row leads to waits for no transaction that has made the row.
_OPEN_WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE relation = to_regclass(%s) AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class TableSize(NamedTuple):
    """A table: its rows as last estimated, its bytes with indexes."""

    name: str
    rows: int
    bytes: int


class DatabaseSize(NamedTuple):
    """What the catalogue knows; None where this kind of database does not."""

    version: str
    bytes: int
    connections: int | None = None
    max_connections: int | None = None
    tables: Sequence[TableSize] = ()


def read_size(*, using: str) -> DatabaseSize:
    """The size of the database and of DelayHub's tables. Raises DatabaseError."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute(_SQLITE)
            return DatabaseSize(*cursor.fetchone())
        cursor.execute(_POSTGRESQL)
        version, size, clients, most = cursor.fetchone()
        cursor.execute(_POSTGRESQL_TABLES, [r"delayhub\_%"])
        return DatabaseSize(version, size, clients, most, [TableSize(*row) for row in cursor.fetchall()])


def open_writers(*, using: str) -> set[str]:
    """The names of other transactions under way that have written jobs; none on SQLite, which has one writer."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_WRITERS, [Job._meta.db_table])
        return {row[0] for row in cursor.fetchall()}
