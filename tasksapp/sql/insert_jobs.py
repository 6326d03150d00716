"""New jobs, many in one statement; and the columns, VALUES and parameters of all statements that make some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import repeat
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, UUIDField

from tasksapp.models import Job, NewJob
from tasksapp.models.job import FIRST_VALUES, FOLLOWING
from tasksapp.sql.driver.single_statement import SingleStatement, may_be_single

#: Columns that each row brings.
GIVEN = (*NewJob._fields, *FOLLOWING)


def _is_there_anyway(name: str, value: Any) -> bool:
    """Whether a row that does not bring the column has that value in it."""
    field: Any = Job._meta.get_field(name)
    return value is None or field.db_default == value


#: Columns that begin with the same value in all rows, where the table does not give it by itself.
CONSTANT = {name: value for name, value in FIRST_VALUES.items() if not _is_there_anyway(name, value)}
#: Columns that need not be sent where all rows have these values.
_LEFT_OUT = {name: value for name, value in NewJob._field_defaults.items() if _is_there_anyway(name, value)}
#: Columns that a pending job takes from the row that replaces it: all but those that say which job it is,
#: and who made it first.
REPLACED = tuple(
    name for name in GIVEN if name not in {"id", "biz_type_id", "place", "debounce_key", "created_at", "created_by"}
)
#: It keeps its place among the jobs of its flow key.
REPLACED_PLACE = (
    "place = CASE delayhub_job.flow_key WHEN excluded.flow_key"
    " THEN coalesce(delayhub_job.place, excluded.place) ELSE excluded.place END"
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
_SINGLE = SingleStatement(_INSERT + NUMBERED_ROW)


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
        _SINGLE.rows(connection, values)
        meanwhile()
        return
    with connection.cursor() as cursor:
        if len(rows) < COPY_ROWS or not hasattr(cursor, "copy"):  # psycopg2 has another copy
            cursor.execute(
                _INSERT + ", ".join([ROW] * len(rows)),
                parameters(rows, now=now, connection=connection, created_by=created_by),
            )
        else:
            columns = _columns(rows, now=now, created_by=created_by)
            copied = zip(*columns.values(), strict=False)  # what is the same in all rows is repeated without end
            copy_jobs([*columns], copied, cursor=cursor, meanwhile=meanwhile)
            return
    meanwhile()


def _columns(rows: Sequence[NewJob], *, now: datetime, created_by: str) -> dict[str, Iterable[Any]]:
    """What is sent of new rows, by column. Most jobs lack the same half of the columns, which then cost nothing."""
    given = dict(zip(NewJob._fields, zip(*rows, strict=True), strict=True))
    for name, value in _LEFT_OUT.items():
        if given[name].count(value) == len(rows):
            del given[name]
    shared = {"created_at": now, "updated_at": now, "created_by": created_by, **CONSTANT}
    return {**given, "next_run_at": given["due_at"], **{name: repeat(value) for name, value in shared.items()}}


@cache
def _type(name: str, using: str) -> str:
    """The type of a column there, as PostgreSQL calls it."""
    return str(Job._meta.get_field(name).db_type(connections[using])).partition("(")[0]


def copy_jobs(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, cursor: Any, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Sends new rows by COPY in PostgreSQL's binary format: half the price of text, in Python and in the server.

    Args:
        columns: those that the rows have; all others are as the table has them by default.
        rows: their values.
        cursor: one of psycopg 3.
        meanwhile: called while the server still stores the rows.
    """
    statement = f"COPY {Job._meta.db_table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
    types = [_type(name, cursor.db.alias) for name in columns]
    with cursor.db.wrap_database_errors, cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
        meanwhile()
