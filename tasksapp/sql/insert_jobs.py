"""Many new jobs in one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import connections

from tasksapp.models import Job, NewJob
from tasksapp.sql.driver.binary_copy import BinaryCopy
from tasksapp.sql.driver.single_statement import execute_single, may_be_single
from tasksapp.sql.new_rows import COLUMNS, CONSTANT, NUMBERED_ROW, ROW, parameters

#: From so many rows on, COPY is faster, though it takes one round trip more.
COPY_ROWS = 20

_INSERT = f"INSERT INTO delayhub_job ({COLUMNS}) VALUES "  # noqa: S608  our own columns
_SINGLE = (_INSERT + NUMBERED_ROW).encode()
_GIVEN = {name: index for index, name in enumerate(NewJob._fields)}
COPY = BinaryCopy(
    Job, {**_GIVEN, "next_run_at": _GIVEN["due_at"]}, shared=("created_at", "updated_at", "created_by", *CONSTANT)
)


def insert_jobs(
    rows: Sequence[NewJob],
    *,
    now: datetime,
    using: str,
    created_by: str = "",
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Inserts pending jobs without a debounce key, as part of the caller's transaction if there is one.

    ``meanwhile`` is called while the server still stores the rows, where they are many; it must not use the database.
    """
    connection = connections[using]
    if connection.vendor != "postgresql":
        made = [Job.of(row, now=now, created_by=created_by) for row in rows]
        Job.objects.using(using).bulk_create(made, batch_size=500)
        meanwhile()
        return
    if len(rows) == 1 and may_be_single(connection):
        values = parameters(rows, now=now, connection=connection, created_by=created_by)
        execute_single(connection, _SINGLE, values)
        meanwhile()
        return
    with connection.cursor() as cursor:
        if len(rows) < COPY_ROWS or not hasattr(cursor, "copy"):  # psycopg2 has another copy
            cursor.execute(
                _INSERT + ", ".join([ROW] * len(rows)),
                parameters(rows, now=now, connection=connection, created_by=created_by),
            )
        else:
            with connection.wrap_database_errors, cursor.copy(COPY.statement) as copy:
                for piece in COPY.pieces(rows, shared=(now, now, created_by, *CONSTANT.values())):
                    copy.write(piece)
                meanwhile()
            return
    meanwhile()
