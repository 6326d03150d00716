"""Classify errors of the database: it is away, a connection is of no use, or two writers met."""

from __future__ import annotations

import sqlite3

from django.db import DatabaseError, Error, InterfaceError, InternalError, OperationalError

#: What a PostgreSQL server answers that has become a standby: a change is refused there.
READ_ONLY = "25006"
#: The SQLSTATE class of statements that are too complex; psycopg counts it with those of lost connections.
TOO_COMPLEX = "54"
#: SQLSTATE of a statement that has waited for ``lock_timeout``.
LOCK_NOT_AVAILABLE = "55P03"
#: SQLSTATE of a transaction that could not be serialized with another one, and of one that was ended for a deadlock.
CONFLICTS = frozenset({"40001", "40P01"})
#: The server ends the connection or takes none at the moment: shut down, crashed, or starting.
SERVER_LEAVES = frozenset({"57P01", "57P02", "57P03"})
#: The SQLSTATE class of connections that failed.
CONNECTION_FAILED = "08"

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def sqlstate_of(error: BaseException | None) -> str | None:
    """Return the SQLSTATE of an error of the driver, or of Django's that was raised from it."""
    for one in (error, error.__cause__ if error is not None else None):
        # psycopg2 calls it pgcode
        state: str | None = getattr(one, "sqlstate", None) or getattr(one, "pgcode", None)
        if state:
            return state
    return None


def ends_connection(error: BaseException) -> bool:
    """Return True if the connection that raised this is of no use: its server is a standby, or goes away."""
    state = sqlstate_of(error) or ""
    return state == READ_ONLY or state in SERVER_LEAVES or state.startswith(CONNECTION_FAILED)


def is_away(error: Exception) -> bool:
    """Return True if the database did not answer, or refused for now: not reached, stopped, full, locked, read-only."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        # SQLite has one exception for a file that is locked or gone, and for a table that does not exist.
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OperationalError) and code & 0xFF != sqlite3.SQLITE_ERROR
    match error:
        case OperationalError():
            return not (sqlstate_of(error) or "").startswith(TOO_COMPLEX)
        case InternalError():
            return sqlstate_of(error) == READ_ONLY
        case InterfaceError():
            return "connection" in str(error) and "closed" in str(error)
    return False


def is_conflict(error: Exception) -> bool:
    """Return True if a transaction met another one and was ended for that: it has changed nothing.

    40001 and 40P01 of PostgreSQL; of SQLite a transaction that read before another one wrote.
    """
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY_SNAPSHOT
    return isinstance(error, DatabaseError) and sqlstate_of(error) in CONFLICTS


def is_lock_timeout(error: Exception) -> bool:
    """Return True if a statement was ended since it waited too long for a lock; it has changed nothing."""
    cause = error.__cause__
    if not isinstance(error, Error) or is_conflict(error):
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _BUSY
    return sqlstate_of(error) == LOCK_NOT_AVAILABLE
