"""New jobs with a debounce key: each is inserted, or replaces the pending job that holds its key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID
from zlib import crc32

from django.db import connections, transaction
from django.db.models import Q

from tasksapp.models import Job, NewJob, Transition
from tasksapp.sql.new_rows import COLUMNS, REPLACED, ROW, parameters

#: Rows that one statement takes.
CHUNK_ROWS = 100
#: The keys of a biz type share so many advisory locks; the first of a lock's two numbers marks it as ours.
TURNS = 64
_SPACE = 0x64656C61

#: Both databases know it. It waits for the transaction of a rival, and then replaces a job that the rival inserted. A
#: job that the rival claimed is no longer pending and so not in the index: the new job is inserted beside it.
_INSERT = f"INSERT INTO delayhub_job ({COLUMNS}) VALUES "  # noqa: S608  our own columns
_OR_REPLACE = f"""
ON CONFLICT (biz_type_id, debounce_key) WHERE debounce_key > '' AND status = '{Transition.REPLACE.source}' DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in REPLACED)},
    lease_until = NULL, version = delayhub_job.version + 1
RETURNING biz_type_id, debounce_key, id
"""


def replace_jobs(rows: Sequence[NewJob], *, now: datetime, using: str) -> dict[UUID, UUID]:
    """Writes the rows, and gives back the job that each became: a new one, or the one it replaced. Keys must differ."""
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
    """Locks what the statements will touch, before they hold any row: else two bulks deadlock.

    Bulks of the same keys take turns by advisory locks, so each sees the jobs that the one before it made. It locks
    those jobs in the order of their ids, as all verbs do.
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
    pending = (
        Job.objects.using(using).filter(wanted, status=Transition.REPLACE.source, debounce_key__gt="").order_by("id")
    )
    list(pending.select_for_update(no_key=True).values_list("id"))


def _upsert(rows: Sequence[NewJob], *, now: datetime, using: str) -> dict[UUID, UUID]:
    connection = connections[using]
    statement = _INSERT + ", ".join([ROW] * len(rows)) + _OR_REPLACE
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters(rows, now=now, connection=connection))
        found = {(biz_type_id, key): _uuid(job_id) for biz_type_id, key, job_id in cursor.fetchall()}
    return {row.id: found[row.biz_type_id, row.debounce_key] for row in rows}


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
