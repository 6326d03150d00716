"""New jobs of biz types that keep one live job of each biz id: each is inserted, or finds the job that is live."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections

from tasksapp.models import LIVE, BizType, Job, NewJob, Transition
from tasksapp.sql.insert_jobs import COLUMNS, REPLACED, REPLACED_PLACE, ROW, parameters
from tasksapp.sql.keep_last import by_biz_type, new_live_key
from tasksapp.sql.read_values import read_moment, read_uuid

#: Rows that one statement takes.
CHUNK_ROWS = 100
#: How often a row is tried whose rival is live when it is inserted, and has ended when that is looked for.
TRIES = 20

_LIVE = ", ".join(f"'{status}'" for status in LIVE)
_INSERT = f"INSERT INTO delayhub_job ({COLUMNS}, live_key) VALUES "  # noqa: S608  our own columns
_ROW = f"{ROW[:-1]}, %s)"
#: Both databases know it. It waits for the transaction of a rival with the same key.
_ON_CONFLICT = f" ON CONFLICT (biz_type_id, live_key) WHERE live_key IS NOT NULL AND status IN ({_LIVE}) "
_RETURNING = " RETURNING biz_type_id, live_key, id, next_run_at"
_OR_NOTHING = _ON_CONFLICT + "DO NOTHING" + _RETURNING
#: A job that runs is not replaced; its row is not given back then.
_OR_REPLACE = (
    f"{_ON_CONFLICT}DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in REPLACED)}, {REPLACED_PLACE},"
    " lease_until = NULL, version = delayhub_job.version + 1"
    f" WHERE delayhub_job.status = '{Transition.REPLACE.source}'{_RETURNING}"
)

#: A biz type's id and a live key.
Key = tuple[int, str]
_REPLACING = (BizType.OneLive.REPLACE, BizType.OneLive.LAST)


class LiveJob(NamedTuple):
    """The job that a row became, or the live one that was there.

    Args:
        job_id: its id; the row's own where it was inserted.
        next_run_at: when it runs next.
        is_written: whether it has the row's content.
    """

    job_id: UUID
    next_run_at: datetime
    is_written: bool


def insert_live_jobs(
    rows: Sequence[NewJob], one_live: BizType.OneLive, *, now: datetime, using: str, created_by: str = ""
) -> dict[UUID, LiveJob]:
    """Writes the rows in the caller's transaction, and gives back by row id what became of each.

    Args:
        rows: new jobs with a biz id.
        one_live: what their biz types choose.
        now: when they are created.
        using: the database.
        created_by: who creates them.
    """
    became: dict[UUID, LiveJob] = {}
    replace = one_live in _REPLACING
    keys = {row.id: (row.biz_type_id, new_live_key(row.biz_id, one_live)) for row in rows}
    if replace and len(rows) > 1 and connections[using].features.has_select_for_update:
        _lock(keys.values(), using=using)
    for chunk in _chunks(rows, keys):
        left = list(chunk)
        for _ in range(TRIES):
            written = _written(left, keys, replace=replace, now=now, using=using, created_by=created_by)
            became |= {row.id: written[keys[row.id]] for row in left if keys[row.id] in written}
            left = [row for row in left if row.id not in became]
            live = _live([keys[row.id] for row in left], using=using)
            became |= {row.id: live[keys[row.id]] for row in left if keys[row.id] in live}
            left = [row for row in left if row.id not in became]
            if not left:
                break
    return became


def live_jobs(keys: Sequence[Key], *, using: str) -> dict[Key, UUID]:
    """By business key, the one job that is live; only those that have one."""
    return {key: job.job_id for key, job in _live(keys, using=using).items()}


def _chunks(rows: Sequence[NewJob], keys: Mapping[UUID, Key]) -> Iterator[Sequence[NewJob]]:
    """The rows in the order of their keys, so that two bulks never wait for each other; no key is twice in a chunk."""
    turns: list[list[NewJob]] = []
    seen: dict[Key, int] = defaultdict(int)
    for row in rows:
        turn = seen[keys[row.id]]
        seen[keys[row.id]] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(row)
    for turn_rows in turns:
        ordered = sorted(turn_rows, key=lambda row: keys[row.id])
        for start in range(0, len(ordered), CHUNK_ROWS):
            yield ordered[start : start + CHUNK_ROWS]


def _written(
    rows: Sequence[NewJob], keys: Mapping[UUID, Key], *, replace: bool, now: datetime, using: str, created_by: str
) -> dict[Key, LiveJob]:
    connection = connections[using]
    values: list[Any] = []
    for row in rows:
        _, live_key = keys[row.id]
        values += [*parameters([row], now=now, connection=connection, created_by=created_by), live_key]
    statement = _INSERT + ", ".join([_ROW] * len(rows)) + (_OR_REPLACE if replace else _OR_NOTHING)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {
            (number, key): LiveJob(read_uuid(job_id), read_moment(next_run_at), is_written=True)
            for number, key, job_id, next_run_at in cursor.fetchall()
        }


def _live(keys: Sequence[Key], *, using: str) -> dict[Key, LiveJob]:
    found: dict[Key, LiveJob] = {}
    for number, held in by_biz_type(keys).items():
        rows = Job.objects.using(using).filter(biz_type_id=number, live_key__in=held, status__in=LIVE)
        for key, job_id, next_run_at in rows.values_list("live_key", "id", "next_run_at"):
            found[number, str(key)] = LiveJob(job_id, next_run_at, is_written=False)
    return found


def _lock(keys: Iterable[Key], *, using: str) -> None:
    """Locks the jobs that may be replaced in the order of their ids, as all verbs do: else two of them deadlock."""
    for number, held in sorted(by_biz_type(keys).items()):
        live = Job.objects.using(using).filter(biz_type_id=number, live_key__in=held, status__in=LIVE)
        list(live.order_by("id").select_for_update(no_key=True).values_list("id"))
