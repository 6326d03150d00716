"""Find out why a database takes no writes: its disk may be full, or it may be read-only, or a standby."""

from __future__ import annotations

import os
import sqlite3
from enum import StrEnum
from pathlib import Path

from django.db import Error, connections

from delayhub.clock import Clock, SystemClock
from tasksapp.models.database_faults import READ_ONLY, sqlstate_of

#: After a write was refused because the disk is full, the database counts as full for this long: only a write finds
#: it out, since the pages that a database has already may still have room for a small one.
REMEMBERED_SECONDS = 30.0
#: PostgreSQL's SQLSTATE of a statement that found no space left on the disk.
DISK_FULL = "53100"


class NoWrites(StrEnum):
    """Why a database that answers takes no writes."""

    FULL = "full"
    READ_ONLY = "read-only"
    STANDBY = "standby"


class _Seen:
    """When this process was last refused a write because the disk is full, on the monotonic clock."""

    full_until = 0.0


_clock: Clock = SystemClock()


def refusal_of(error: Exception) -> NoWrites | None:
    """Return why the database refused a write; None if the error is about something else. Nothing was written."""
    if not isinstance(error, Error):
        return None
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return {sqlite3.SQLITE_FULL: NoWrites.FULL, sqlite3.SQLITE_READONLY: NoWrites.READ_ONLY}.get(code)
    return {DISK_FULL: NoWrites.FULL, READ_ONLY: NoWrites.READ_ONLY}.get(sqlstate_of(error) or "")


def note_refusal(error: Exception) -> NoWrites | None:
    """Remember that the disk is full, if the error says so. Return what :func:`refusal_of` does."""
    found = refusal_of(error)
    if found is NoWrites.FULL:
        _Seen.full_until = _clock.monotonic() + REMEMBERED_SECONDS
    return found


def forget_refusals() -> None:
    """Forget what was noted; for tests."""
    _Seen.full_until = 0.0


def no_writes(*, using: str) -> NoWrites | None:
    """Return why the database takes no writes; None if it does. It writes nothing.

    Raises:
        Error: the database does not answer.
    """
    if _clock.monotonic() < _Seen.full_until:
        return NoWrites.FULL
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_is_in_recovery(), current_setting('transaction_read_only')")
            is_standby, read_only = cursor.fetchone()
            return NoWrites.STANDBY if is_standby else NoWrites.READ_ONLY if read_only == "on" else None
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA query_only")
            (query_only,) = cursor.fetchone()
            return NoWrites.READ_ONLY if query_only else _of_file(Path(str(connection.settings_dict["NAME"])))
    return None


def _of_file(file: Path) -> NoWrites | None:
    """Return why SQLite cannot write its file, or a journal in its folder."""
    if not file.exists():  # a database in memory
        return None
    if not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return NoWrites.READ_ONLY
    disk = os.statvfs(file.parent)
    if disk.f_flag & os.ST_RDONLY:
        return NoWrites.READ_ONLY
    return None if disk.f_bavail else NoWrites.FULL
