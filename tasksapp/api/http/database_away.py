"""Tells a database that does not answer from an error of ours: the first passes, and callers can try again."""

from __future__ import annotations

import sqlite3

from django.db import DatabaseError, InterfaceError, InternalError, OperationalError

#: When a caller should try again.
RETRY_SECONDS = 5
#: What a PostgreSQL server answers that has become a standby: a change is refused there.
READ_ONLY = "25006"
#: The SQLSTATE class of statements that are too complex; psycopg counts it with those of lost connections.
TOO_COMPLEX = "54"


def is_away(error: Exception) -> bool:
    """Whether the database did not answer, or refused for now: not reached, stopped, full, locked, or read-only."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        # SQLite has one exception for a file that is locked or gone, and for a table that does not exist.
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OperationalError) and code & 0xFF != sqlite3.SQLITE_ERROR
    sqlstate: str | None = getattr(cause, "sqlstate", None)
    match error:
        case OperationalError():
            return not (sqlstate or "").startswith(TOO_COMPLEX)
        case InternalError():
            return sqlstate == READ_ONLY
        case InterfaceError():
            return "connection" in str(error) and "closed" in str(error)
    return False
