"""New jobs with a debounce key: each is inserted, or replaces the pending job that holds its key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID
from zlib import crc32

from django.db import connections, transaction
from django.db.models import Q

from tasksapp.models import Job, NewJob, Transition
from tasksapp.sql.insert_jobs import COLUMNS, REPLACED, REPLACED_PLACE, ROW, parameters
from tasksapp.sql.read_values import read_moment, read_uuid

#: Rows that one statement takes.
CHUNK_ROWS = 100
#: The keys of a biz type share so many advisory locks; the first of a lock's two numbers marks it as ours.
TURNS = 64
_SPACE = 0x64656C61

#: Both databases know it. It waits for the transaction of a rival, and then replaces a job that the rival inserted. A
#: job that the rival claimed is no longer pending and so not in the index: the new job is inserted beside it.
_INSERT = f"INSERT INTO delayhub_job ({COLUMNS}) VALUES "  # noqa: S608  our own columns
#: The time after which requests put a job off no further: the longest wait since its creation, or the time that it has
#: already, where that is later. Both only end the putting off; they make no job earlier than its request asks.
_OR_REPLACE = f"""
ON CONFLICT (biz_type_id, debounce_key) WHERE debounce_key > '' AND status = '{Transition.REPLACE.source}' DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in REPLACED if name not in {"due_at", "next_run_at"})},
    {REPLACED_PLACE},
    next_run_at = {{least}}(excluded.due_at, {{greatest}}({{longest}}, delayhub_job.next_run_at)),
    -- Not before now, or a job that was put off for long would count as late.
    due_at = {{least}}(excluded.due_at, {{greatest}}({{longest}}, delayhub_job.next_run_at, excluded.created_at)),
    lease_until = NULL, version = delayhub_job.version + 1
RETURNING biz_type_id, debounce_key, id, next_run_at
"""
_OR_REPLACE_IN = {
    "postgresql": _OR_REPLACE.format(
        least="least", greatest="greatest", longest="delayhub_job.created_at + make_interval(secs => %s)"
    ),
    # Its times are texts that sort as the times do.
    "sqlite": _OR_REPLACE.format(
        least="min",
        greatest="max",
        longest="strftime('%%Y-%%m-%%d %%H:%%M:%%f', delayhub_job.created_at, '+' || %s || ' seconds')",
    ),
}


class Debounced(NamedTuple):
    """A row with a debounce key, and how long after the creation of the job that it replaces it may put that off."""

    row: NewJob
    max_wait: timedelta


class Became(NamedTuple):
    """The job that a row became: a new one, or the one it replaced; and when that runs."""

    job_id: UUID
    next_run_at: datetime


def replace_jobs(
    debounced: Sequence[Debounced], *, now: datetime, using: str, created_by: str = ""
) -> dict[UUID, Became]:
    """Writes the rows, and gives back by row id what each became. Their keys must differ.

    A job that is replaced keeps who created it first.
    """
    became: dict[UUID, Became] = {}
    if len(debounced) <= 1:
        if not debounced:
            return became
        return _upsert([debounced[0].row], debounced[0].max_wait, now=now, using=using, created_by=created_by)
    by_wait: dict[timedelta, list[NewJob]] = defaultdict(list)
    for row, max_wait in debounced:
        by_wait[max_wait].append(row)
    with transaction.atomic(using=using):
        if connections[using].vendor == "postgresql":
            _lock([row for row, _ in debounced], using=using)
        for max_wait, rows in by_wait.items():
            for start in range(0, len(rows), CHUNK_ROWS):
                chunk = rows[start : start + CHUNK_ROWS]
                became |= _upsert(chunk, max_wait, now=now, using=using, created_by=created_by)
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


def _upsert(
    rows: Sequence[NewJob], max_wait: timedelta, *, now: datetime, using: str, created_by: str
) -> dict[UUID, Became]:
    connection = connections[using]
    statement = _INSERT + ", ".join([ROW] * len(rows)) + _OR_REPLACE_IN[connection.vendor]
    longest = max_wait.total_seconds()
    with connection.cursor() as cursor:
        values = parameters(rows, now=now, connection=connection, created_by=created_by)
        cursor.execute(statement, [*values, longest, longest])
        found = {
            (biz_type_id, key): Became(read_uuid(job_id), read_moment(next_run_at))
            for biz_type_id, key, job_id, next_run_at in cursor.fetchall()
        }
    return {row.id: found[row.biz_type_id, row.debounce_key] for row in rows}
