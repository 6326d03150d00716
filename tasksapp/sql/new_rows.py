"""New rows as statements write them: columns, VALUES and parameters, made from :class:`NewJob` and the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, UUIDField

from tasksapp.models import Job, NewJob
from tasksapp.models.job import FIRST_VALUES, FOLLOWING

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
