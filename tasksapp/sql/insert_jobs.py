"""Many new jobs in one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections

from tasksapp.models import Job


class NewJob(NamedTuple):
    """What a caller decides about a job's row; all else has one value at first."""

    id: UUID
    biz_type_id: int
    biz_id: str
    due_at: datetime
    body: str
    priority: int
    max_attempts: int | None
    traceparent: str
    debounce_key: str = ""

    def as_job(self, *, now: datetime) -> Job:
        """The row as a model instance."""
        return Job(**self._asdict(), next_run_at=self.due_at, created_at=now, updated_at=now)


_COLUMNS = """
    id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent, next_run_at,
    created_at, updated_at, status, attempts, attempt_base, system_errors, version, worker, last_error
"""
_COPY = f"COPY delayhub_job ({_COLUMNS}) FROM STDIN"
_INSERT = f"INSERT INTO delayhub_job ({_COLUMNS}) VALUES "  # noqa: S608  our own columns
_VALUES = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'pending', 0, 0, 0, 1, '', '')"
#: From so many rows on, COPY is faster, though it takes one round trip more.
COPY_ROWS = 20
#: Rows that COPY is sent at once; the server stores them while we write the next ones.
PIECE_ROWS = 50


def insert_jobs(
    rows: Sequence[NewJob], *, now: datetime, using: str, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Inserts pending jobs without a debounce key, as part of the caller's transaction if there is one.

    ``meanwhile`` is called while the server is still at it, where the rows are many; it must not use the database.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        Job.objects.using(using).bulk_create([row.as_job(now=now) for row in rows], batch_size=500)
        meanwhile()
        return
    with connection.cursor() as cursor:
        if len(rows) < COPY_ROWS or not hasattr(cursor, "copy"):  # psycopg2 has another copy
            values = [value for row in rows for value in _values(row, now.isoformat())]
            cursor.execute(_INSERT + ", ".join([_VALUES] * len(rows)), values)
            meanwhile()
            return
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for start in range(0, len(rows), PIECE_ROWS):
                copy.write(_copy_text(rows[start : start + PIECE_ROWS], now))
            meanwhile()


def _values(row: NewJob, now: str) -> tuple[Any, ...]:
    """A row's parameters, moments and id as text: psycopg takes longer to write them."""
    due = row.due_at.isoformat()
    return (str(row.id), row.biz_type_id, row.biz_id, due, *row[4:8], due, now, now)


def _copy_text(rows: Sequence[NewJob], now: datetime) -> str:
    """Rows in COPY's text format: psycopg takes four times as long to make arrays of them."""
    rest = f"{now.isoformat()}\t{now.isoformat()}\tpending\t0\t0\t0\t1\t\t\n"
    lines: list[str] = []
    for row in rows:
        due = row.due_at.isoformat()
        # The rules let no tab or line end through; that leaves the backslash.
        biz_id, body = row.biz_id.replace("\\", "\\\\"), row.body.replace("\\", "\\\\")
        attempts = "\\N" if row.max_attempts is None else row.max_attempts
        lines.append(
            f"{row.id}\t{row.biz_type_id}\t{biz_id}\t{due}\t{body}\t{row.priority}\t{attempts}"
            f"\t{row.traceparent}\t{due}\t{rest}"
        )
    return "".join(lines)
