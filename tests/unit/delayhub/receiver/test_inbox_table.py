"""Which errors of databases say that another transaction has a lock."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest
from psycopg import errors
from sqlalchemy.exc import OperationalError

from delayhub.receiver.inbox_table import is_busy, oldest_kept


def locked() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY_SNAPSHOT
    return error


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError()
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "busy"),
    [
        (locked(), True),
        (errors.LockNotAvailable(), True),
        (errors.SerializationFailure(), True),
        # as Django and SQLAlchemy wrap them
        (caused_by(locked()), True),
        (OperationalError("INSERT", {}, locked()), True),
        (errors.UndefinedTable(), False),
        (sqlite3.OperationalError("no such table"), False),
    ],
)
def test_an_error_is_known_by_its_code(error: Exception, busy: bool) -> None:
    assert is_busy(error) is busy


def test_something_must_be_kept() -> None:
    assert oldest_kept(100_000_500, keep=timedelta(days=1)) == 100_000 - 86_400
    with pytest.raises(ValueError, match="keep must be positive"):
        oldest_kept(1, keep=timedelta())
