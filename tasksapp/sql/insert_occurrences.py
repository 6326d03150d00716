"""Jobs of series, in one statement. Those of all others have no such columns to pay for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connections

from tasksapp.models import Job, NewJob
from tasksapp.sql.driver.binary_copy import BinaryCopy
from tasksapp.sql.new_rows import CONSTANT


class NewOccurrence(NamedTuple):
    """A job that a series makes; ``occurrence_at`` is None for one that is triggered by hand."""

    job: NewJob
    series_id: int
    occurrence_at: datetime | None


_GIVEN = {name: index for index, name in enumerate((*NewJob._fields, "series_id", "occurrence_at"))}
_COPY = BinaryCopy(
    Job, {**_GIVEN, "next_run_at": _GIVEN["due_at"]}, shared=("created_at", "updated_at", "created_by", *CONSTANT)
)


def insert_occurrences(rows: Sequence[NewOccurrence], *, now: datetime, created_by: str = "", using: str) -> None:
    """Inserts pending jobs of series, as part of the caller's transaction."""
    connection = connections[using]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and hasattr(cursor, "copy"):  # psycopg2 has another copy
            values = [(*row.job, row.series_id, row.occurrence_at) for row in rows]
            with connection.wrap_database_errors, cursor.copy(_COPY.statement) as copy:
                for piece in _COPY.pieces(values, shared=(now, now, created_by, *CONSTANT.values())):
                    copy.write(piece)
            return
    made = []
    for row in rows:
        job = Job.of(row.job, now=now, created_by=created_by)
        job.series_id, job.occurrence_at = row.series_id, row.occurrence_at
        made.append(job)
    Job.objects.using(using).bulk_create(made, batch_size=500)
