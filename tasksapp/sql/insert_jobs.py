"""Many new jobs in one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from struct import Struct
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections

from tasksapp.models import Job
from tasksapp.sql.driver.single_statement import execute_alone, may_be_alone


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
_INSERT = f"INSERT INTO delayhub_job ({_COLUMNS}) VALUES "  # noqa: S608  our own columns
_VALUES = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'pending', 0, 0, 0, 1, '', '')"
_LONE = f"""
INSERT INTO delayhub_job ({_COLUMNS})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', 0, 0, 0, 1, '', '')
""".encode()  # noqa: S608  our own columns
#: The same in the order in which they are packed: for each field its length in bytes, -1 for NULL, and its bytes.
_COPY = """
COPY delayhub_job (
    id, biz_type_id, due_at, next_run_at, priority,
    created_at, updated_at, status, attempts, attempt_base, system_errors, version, worker, last_error,
    max_attempts, biz_id, body, traceparent
) FROM STDIN (FORMAT binary)
"""
_FIRST, _REST, _WHOLE = Struct(">hi16siqiqiqih"), Struct(">iqiqi7siiiiiiiiii"), Struct(">ii")
_SIGNATURE, _NULL, _END = b"PGCOPY\n\xff\r\n\x00" + bytes(8), b"\xff\xff\xff\xff", b"\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
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
    if len(rows) == 1 and may_be_alone(connection):
        execute_alone(connection, _LONE, _values(rows[0], now.isoformat()))
        meanwhile()
        return
    with connection.cursor() as cursor:
        if len(rows) < COPY_ROWS or not hasattr(cursor, "copy"):  # psycopg2 has another copy
            values = [value for row in rows for value in _values(row, now.isoformat())]
            cursor.execute(_INSERT + ", ".join([_VALUES] * len(rows)), values)
            meanwhile()
            return
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for piece in _pieces(rows, now):
                copy.write(piece)
            meanwhile()


def _values(row: NewJob, now: str) -> tuple[Any, ...]:
    """A row's parameters, moments and id as text: psycopg takes longer to write them."""
    due = row.due_at.isoformat()
    return (str(row.id), row.biz_type_id, row.biz_id, due, *row[4:8], due, now, now)


def _pieces(rows: Sequence[NewJob], now: datetime) -> Iterator[bytes]:
    """Rows in COPY's binary format, some at a time: half the price of text, here and in the server."""
    moment = _microseconds(now)
    rest = _REST.pack(8, moment, 8, moment, 7, b"pending", 4, 0, 4, 0, 4, 0, 4, 1, 0, 0)
    yield _SIGNATURE
    for start in range(0, len(rows), PIECE_ROWS):
        fields: list[bytes] = []
        for row in rows[start : start + PIECE_ROWS]:
            due = _microseconds(row.due_at)
            fields += (_FIRST.pack(18, 16, row.id.bytes, 8, row.biz_type_id, 8, due, 8, due, 2, row.priority), rest)
            fields.append(_NULL if row.max_attempts is None else _WHOLE.pack(4, row.max_attempts))
            for text in (row.biz_id, row.body, row.traceparent):
                raw = text.encode()
                fields += (len(raw).to_bytes(4, "big"), raw)
        yield b"".join(fields)
    yield _END


def _microseconds(moment: datetime) -> int:
    """A moment as PostgreSQL keeps it."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
