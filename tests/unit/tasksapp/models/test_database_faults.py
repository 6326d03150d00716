"""What an error of the database means."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from django.db import DataError, InterfaceError, InternalError, OperationalError, ProgrammingError

from tasksapp.models.database_faults import ends_connection, is_away, is_conflict, is_lock_timeout


def raised_by(kind: type[Exception], cause: Exception, text: str = "") -> Exception:
    """The error as Django raises it."""
    error = kind(text or str(cause))
    error.__cause__ = cause
    return error


class Coded(sqlite3.OperationalError):
    """SQLite's error, with its code."""

    def __init__(self, code: int) -> None:
        self.sqlite_errorcode = code


@pytest.mark.parametrize(
    "error",
    [
        raised_by(OperationalError, psycopg.OperationalError("connection failed")),
        raised_by(OperationalError, psycopg.errors.AdminShutdown("terminating connection")),
        raised_by(OperationalError, psycopg.errors.TooManyConnections("too many clients")),
        raised_by(OperationalError, psycopg.errors.DeadlockDetected("deadlock")),
        raised_by(OperationalError, psycopg.errors.QueryCanceled("statement timeout")),
        raised_by(InternalError, psycopg.errors.ReadOnlySqlTransaction("a standby")),
        raised_by(InterfaceError, psycopg.InterfaceError("connection already closed")),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_BUSY)),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_CANTOPEN)),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_IOERR_WRITE)),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_FULL)),
    ],
)
def test_what_passes_is_the_database_away(error: Exception) -> None:
    assert is_away(error)


@pytest.mark.parametrize(
    "error",
    [
        raised_by(ProgrammingError, psycopg.errors.UndefinedTable("no such table")),
        raised_by(DataError, psycopg.DataError("NUL")),
        raised_by(OperationalError, psycopg.errors.StatementTooComplex("too complex")),
        raised_by(InternalError, psycopg.errors.InFailedSqlTransaction("aborted")),
        raised_by(InterfaceError, psycopg.InterfaceError("the cursor is closed")),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_ERROR)),
        raised_by(OperationalError, sqlite3.OperationalError("near: syntax error")),
        OSError("another"),
    ],
)
def test_what_would_fail_again_is_an_error_of_ours(error: Exception) -> None:
    assert not is_away(error)


@pytest.mark.parametrize(
    "error",
    [
        raised_by(OperationalError, psycopg.errors.SerializationFailure("concurrent update")),
        raised_by(OperationalError, psycopg.errors.DeadlockDetected("deadlock")),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_BUSY_SNAPSHOT)),
    ],
)
def test_what_met_another_transaction_is_a_conflict_and_no_lock(error: Exception) -> None:
    assert is_conflict(error)
    assert not is_lock_timeout(error)
    assert not ends_connection(error)


@pytest.mark.parametrize(
    "error",
    [
        raised_by(OperationalError, psycopg.errors.LockNotAvailable("lock timeout")),
        raised_by(OperationalError, Coded(sqlite3.SQLITE_BUSY)),
    ],
)
def test_what_waited_for_a_lock_is_no_conflict(error: Exception) -> None:
    assert is_lock_timeout(error)
    assert not is_conflict(error)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.AdminShutdown("terminating"),
        psycopg.errors.CannotConnectNow("starting up"),
        raised_by(OperationalError, psycopg.errors.CrashShutdown("crash")),
        raised_by(OperationalError, psycopg.errors.ConnectionFailure("lost")),
        raised_by(InternalError, psycopg.errors.ReadOnlySqlTransaction("a standby")),
    ],
)
def test_a_server_that_leaves_or_takes_no_writes_ends_its_connections(error: Exception) -> None:
    assert ends_connection(error)
