"""New jobs, many in one statement; and the columns, VALUES and parameters of all statements that make some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, UUIDField

from tasksapp.models import Job, NewJob
from tasksapp.models.job import FIRST_VALUES, FOLLOWING
from tasksapp.sql.driver.single_statement import execute_single, may_be_single

#: Columns that each row brings.
GIVEN = (*NewJob._fields, *FOLLOWING)
#: Columns that begin with the same value in all rows; those that begin with NULL are left out.
CONSTANT = {name: value for name, value in FIRST_VALUES.items() if value is not None}
#: Columns that a pending job takes from the row that replaces it: all but those that say which job it is,
#: and who made it first.
REPLACED = tuple(
    name for name in GIVEN if name not in {"id", "biz_type_id", "debounce_key", "created_at", "created_by"}
)


def _row(placeholders: Iterable[str]) -> str:
    literals = [str(value) if isinstance(value, int) else f"'{value}'" for value in CONSTANT.values()]
    return f"({', '.join([*placeholders, *literals])})"


#: The columns of an INSERT, and one row of its VALUES, for Django's cursors and as libpq numbers parameters.
COLUMNS = ", ".join((*GIVEN, *CONSTANT))
ROW = _row("%s" for _ in GIVEN)
NUMBERED_ROW = _row(f"${number}" for number, _ in enumerate(GIVEN, start=1))

_FIELDS = [Job._meta.get_field(name) for name in NewJob._fields]
_IDS = [index for index, field in enumerate(_FIELDS) if isinstance(field, UUIDField)]
_MOMENTS = [index for index, field in enumerate(_FIELDS) if isinstance(field, DateTimeField)]
_DUE_AT, _RAW = NewJob._fields.index("due_at"), NewJob._fields.index("raw")


def parameters(
    rows: Sequence[NewJob], *, now: datetime, connection: BaseDatabaseWrapper, created_by: str = ""
) -> list[Any]:
    """The parameters of ``ROW``, for each row in turn."""
    moment: Callable[[datetime], Any]
    job_id: Callable[[Any], Any]
    is_postgresql = connection.vendor == "postgresql"
    if is_postgresql:
        # As text: psycopg takes 10 µs a row longer to write them.
        moment, job_id = datetime.isoformat, str
    else:
        moment = connection.ops.adapt_datetimefield_value
        job_id = partial(Job._meta.pk.get_db_prep_value, connection=connection)
    created = moment(now)
    prepared: list[Any] = []
    for row in rows:
        values: list[Any] = list(row)
        for index in _IDS:
            values[index] = job_id(values[index])
        for index in _MOMENTS:
            values[index] = None if values[index] is None else moment(values[index])
        if values[_RAW] is not None and is_postgresql:
            values[_RAW] = f"\\x{values[_RAW].hex()}"
        prepared += (*values, values[_DUE_AT], created, created, created_by)
    return prepared


#: From so many rows on, COPY is faster, though it takes one round trip more.
COPY_ROWS = 20

_INSERT = f"INSERT INTO delayhub_job ({COLUMNS}) VALUES "  # noqa: S608  our own columns
_SINGLE = (_INSERT + NUMBERED_ROW).encode()


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
            shared = (now, now, created_by, *CONSTANT.values())
            copied = ((*row, row.due_at, *shared) for row in rows)
            copy_jobs((*GIVEN, *CONSTANT), copied, cursor=cursor, meanwhile=meanwhile)
            return
    meanwhile()


def copy_jobs(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, cursor: Any, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Sends new rows by COPY in PostgreSQL's binary format: half the price of text, in Python and in the server.

    Args:
        columns: those that the rows have; all others are NULL.
        rows: their values.
        cursor: one of psycopg 3.
        meanwhile: called while the server still stores the rows.
    """
    statement = f"COPY {Job._meta.db_table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
    types = [str(Job._meta.get_field(name).db_type(cursor.db)).partition("(")[0] for name in columns]
    with cursor.db.wrap_database_errors, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
        meanwhile()
