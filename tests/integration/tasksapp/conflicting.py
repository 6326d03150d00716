"""Statements that are refused as if another transaction had written the same rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import OperationalError, connection

WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|WITH\b.*\b(UPDATE|INSERT)\b)", re.IGNORECASE | re.DOTALL)


def conflict() -> OperationalError:
    """The error of the database that the tests run on, as Django raises it."""
    error = OperationalError("could not serialize access due to concurrent update")
    if connection.vendor == "postgresql":
        error.__cause__ = psycopg.errors.SerializationFailure(str(error))
    else:
        error.__cause__ = cause = sqlite3.OperationalError("database is locked")
        cause.sqlite_errorcode = sqlite3.SQLITE_BUSY_SNAPSHOT
    return error


class Conflicts:
    """Refuses each write once, or all of them.

    Args:
        always: whether a write is refused again.
    """

    def __init__(self, *, always: bool) -> None:
        self._always = always
        #: The statements that were refused.
        self.refused: set[str] = set()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITES.match(sql) and (self._always or sql not in self.refused):
            self.refused.add(sql)
            raise conflict()
        return execute(sql, params, many, context)


@contextmanager
def conflicts(*, always: bool = False) -> Iterator[Conflicts]:
    """Refuses writes of this thread: each once, and what repeats it goes on to the next one; or each time."""
    refusing = Conflicts(always=always)
    with connection.execute_wrapper(refusing), patch("tasksapp.models.conflicts.FIRST_PAUSE_SECONDS", 0.0):
        if not always:
            with patch("tasksapp.models.conflicts.TRIES", 50):
                yield refusing
            return
        yield refusing
