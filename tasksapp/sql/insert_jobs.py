"""Many new jobs in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
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

    def as_job(self, *, now: datetime) -> Job:
        """The row as a model instance."""
        return Job(**self._asdict(), next_run_at=self.due_at, created_at=now, updated_at=now)


_INSERT = """
INSERT INTO delayhub_job (
    id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent, next_run_at,
    status, attempts, attempt_base, system_errors, version, worker, last_error, created_at, updated_at
)
SELECT id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent, due_at,
    'pending', 0, 0, 0, 1, '', '', %s, %s
FROM unnest(
    %s::uuid[], %s::bigint[], %s::text[], %s::timestamptz[], %s::text[], %s::smallint[], %s::integer[], %s::text[]
) AS new (id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent)
"""


def insert_jobs(rows: Sequence[NewJob], *, now: datetime, using: str) -> None:
    """Inserts pending jobs, as part of the caller's transaction if there is one."""
    if not rows:
        return
    connection = connections[using]
    if connection.vendor == "postgresql":
        columns = [list(column) for column in zip(*rows, strict=True)]
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, [now, now, *columns])
    else:
        Job.objects.using(using).bulk_create([row.as_job(now=now) for row in rows], batch_size=500)
