"""New jobs with a debounce key: each is inserted, or takes the place of the pending one that holds its key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from zlib import crc32

from django.db import connections, transaction
from django.db.models import Q

from tasksapp.models import Job, Status
from tasksapp.sql.insert_jobs import NewJob

#: Rows that one statement takes.
CHUNK_ROWS = 100
#: Advisory locks that the keys of a biz type share, and the first half of their names, which is ours.
TURNS = 64
_SPACE = 0x64656C61

#: Both databases speak it. A rival's transaction is waited for: a job that it inserted is then replaced, and one that
#: it claimed is not pending any more and out of the index, so that the new one is inserted beside it.
_UPSERT = """
INSERT INTO delayhub_job (
    id, biz_type_id, biz_id, due_at, body, priority, max_attempts, traceparent, debounce_key, next_run_at,
    created_at, updated_at, status, attempts, attempt_base, system_errors, version, worker, last_error
)
VALUES {values}
ON CONFLICT (biz_type_id, debounce_key) WHERE debounce_key > '' AND status = 'pending' DO UPDATE SET
    biz_id = excluded.biz_id, due_at = excluded.due_at, next_run_at = excluded.next_run_at, body = excluded.body,
    priority = excluded.priority, max_attempts = excluded.max_attempts, traceparent = excluded.traceparent,
    lease_until = NULL, updated_at = excluded.updated_at, version = delayhub_job.version + 1
RETURNING biz_type_id, debounce_key, id
"""
_ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'pending', 0, 0, 0, 1, '', '')"


def replace_jobs(rows: Sequence[NewJob], *, now: datetime, using: str) -> dict[UUID, UUID]:
    """The job that each row has become: itself, or the pending one whose content it replaced. The keys must differ."""
    became: dict[UUID, UUID] = {}
    if len(rows) <= 1:
        return _upsert(rows, now=now, using=using) if rows else became
    with transaction.atomic(using=using):
        if connections[using].vendor == "postgresql":
            _lock(rows, using=using)
        for start in range(0, len(rows), CHUNK_ROWS):
            became |= _upsert(rows[start : start + CHUNK_ROWS], now=now, using=using)
    return became


def _lock(rows: Sequence[NewJob], *, using: str) -> None:
    """Sees to it that the statements wait for nobody while they hold rows: else two bulks deadlock.

    Bulks of the same keys take turns, so each sees the jobs that the one before it made; those it locks by id, as all
    other verbs do.
    """
    keys: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        keys[row.biz_type_id].append(row.debounce_key)
    turns = {(number * TURNS + crc32(key.encode()) % TURNS) % 2**31 for number in keys for key in keys[number]}
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, turn) FROM unnest(%s::int[]) turn", [_SPACE, sorted(turns)])
    wanted = Q()
    for number, held in keys.items():
        wanted |= Q(biz_type_id=number, debounce_key__in=held)
    pending = Job.objects.using(using).filter(wanted, status=Status.PENDING, debounce_key__gt="").order_by("id")
    list(pending.select_for_update(no_key=True).values_list("id"))


def _upsert(rows: Sequence[NewJob], *, now: datetime, using: str) -> dict[UUID, UUID]:
    connection = connections[using]
    adapt = connection.ops.adapt_datetimefield_value
    to_column = Job._meta.pk.get_db_prep_value
    values: list[Any] = []
    for row in rows:
        due, created = adapt(row.due_at), adapt(now)
        values += [to_column(row.id, connection), row.biz_type_id, row.biz_id, due, *row[4:9], due, created, created]
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT.format(values=", ".join([_ROW] * len(rows))), values)
        found = {(biz_type_id, key): _uuid(job_id) for biz_type_id, key, job_id in cursor.fetchall()}
    return {row.id: found[row.biz_type_id, row.debounce_key] for row in rows}


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
