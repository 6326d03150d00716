"""Writes what running jobs become: one UPDATE and one INSERT of attempts for many, guarded by their tokens.

Whose business key is resolved is not tried again; where an answer says so, it is not dead either, but resolved.

What becomes of jobs that an operation changed is added to the operation's row by the same statement.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F

from tasksapp.models import Attempt, Job, Operation, Transition, error_class
from tasksapp.sql.driver.prepared import StatementByIds
from tasksapp.sql.finished import Finished, Tried
from tasksapp.sql.tombstones import HOLDS, REASON, called_off, held_jobs

#: All transitions of a finished job start from running; those that end in pending leave it without an end.
_RUNNING, _PENDING = Transition.RETRY.source, Transition.RETRY.target
_SUCCEEDED, _DEAD = Transition.SUCCEED.target, Transition.GIVE_UP.target
_CANCELLED = Transition.RESOLVE_RETRY.target

#: What was sent and answered, the last fields of an attempt. Of most attempts only its times and the status of the
#: answer are kept: where the rest is this, it is left out of the JSON.
_EXCHANGE: dict[str, object] = {
    "response_headers": {}, "response_body": "", "error": "", "request_line": "", "request_headers": {}
}  # fmt: skip
_EXCHANGED = Tried._fields[-len(_EXCHANGE) :]
_NO_EXCHANGE = [_EXCHANGE[name] for name in _EXCHANGED]
_TRIED = ", ".join(
    f"coalesce(o.{name}, '{_EXCHANGE[name]}') AS {name}" if name in _EXCHANGE else f"o.{name}" for name in Tried._fields
)

#: Rows are sent as JSON, which is built in C in a few µs a row; arrays would take Python 60.
#: The ids are given beside it, and the status is inside a CASE, so that the rows are found by their ids. The statistics
#: know of no running rows, so the planner would read their index from end to end, with all dead rows that a burst left
#: in it: after 20 000 jobs a write cost half as much again.
_WRITE = StatementByIds(
    f"""
WITH outcome AS MATERIALIZED (
    SELECT o.*, (o.status = '{_PENDING}' OR coalesce(o.hears, false)) AND coalesce((
        SELECT CASE WHEN t.outcome = '' THEN o.status = '{_PENDING}' ELSE coalesce(o.hears, false) END
        FROM delayhub_job j JOIN delayhub_tombstone t ON {HOLDS} WHERE j.id = o.id
    ), false) AS resolved
    FROM json_to_recordset(%(outcomes)s::json) AS o (
        id uuid, token bigint, status text, next_run_at timestamptz, counted int, system_errors int, last_error text,
        failed int, error_class text, hears boolean, number int, started_at timestamptz, duration_ms int,
        lateness_ms bigint, status_code smallint, request_line text, request_headers jsonb, response_headers jsonb,
        response_body text, error text
    )
), done AS (
    UPDATE delayhub_job j SET
        status = CASE WHEN o.resolved THEN '{_CANCELLED}' ELSE o.status END,
        next_run_at = coalesce(o.next_run_at, j.next_run_at), attempts = j.attempts + o.counted,
        system_errors = j.system_errors + coalesce(o.system_errors, 0),
        last_error = CASE WHEN o.resolved THEN '{REASON}' ELSE coalesce(o.last_error, '') END,
        error_class = CASE WHEN o.resolved THEN '{error_class.RESOLVED}' ELSE coalesce(o.error_class, '') END,
        version = j.version + 1, lease_until = NULL, lease_token = NULL, updated_at = %(now)s,
        finished_at = CASE WHEN o.status = '{_PENDING}' AND NOT o.resolved THEN NULL ELSE %(now)s::timestamptz END
    FROM outcome o
    WHERE j.id = ANY(%(ids)s::uuid[]) AND j.id = o.id AND j.lease_token = o.token
        AND CASE WHEN j.status = '{_RUNNING}' THEN true ELSE false END
    RETURNING j.id, j.operation_id, j.status, o.failed, {_TRIED}
), counted AS (
    UPDATE delayhub_operation p SET
        succeeded = p.succeeded + c.succeeded, failed = p.failed + c.failed, dead = p.dead + c.dead
    FROM (
        SELECT operation_id, count(*) FILTER (WHERE status = '{_SUCCEEDED}') AS succeeded,
            coalesce(sum(failed), 0) AS failed, count(*) FILTER (WHERE status = '{_DEAD}') AS dead
        FROM done WHERE operation_id IS NOT NULL GROUP BY operation_id
    ) AS c
    WHERE p.id = c.operation_id
), logged AS (
    INSERT INTO delayhub_attempt (job_id, {", ".join(Tried._fields)}, worker)
    SELECT id, {", ".join(Tried._fields)}, %(worker)s FROM done WHERE number IS NOT NULL
)
SELECT id FROM outcome WHERE id NOT IN (SELECT id FROM done)
""",  # noqa: S608  our own constants
    {"outcomes": "json", "now": "timestamptz", "worker": "text"},
)


def write_outcomes(
    outcomes: Sequence[Finished], *, now: datetime, worker: str, using: str, hearing: Set[UUID] = frozenset()
) -> set[UUID]:
    """Writes the outcomes, and gives back the ids of the jobs whose lease still held; the others are not written.

    Args:
        outcomes: what the jobs become.
        now: when.
        worker: the name that attempts are logged with.
        using: the database.
        hearing: those that an answer calls off, also where they would be dead: the caller, which makes what follows,
            knows that they wait for one. Others that have one, as their biz type waits for answers by now, are pending
            again where they may be tried: the next claim knows of it.
    """
    if not outcomes:
        return set()
    if connections[using].vendor == "postgresql":
        ids = [str(outcome.job_id) for outcome in outcomes]
        values: dict[str, Any] = {"outcomes": _json(outcomes, ids, hearing), "now": now, "worker": worker}
        lost = {row[0] for row in _WRITE.rows(connections[using], ids, values)}
        return {outcome.job_id for outcome in outcomes} - lost
    return _write_by_orm(outcomes, now=now, worker=worker, using=using, hearing=hearing)


#: The same text for all: no search for circles, of which there are none, and no blanks.
_encode = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


def _json(outcomes: Sequence[Finished], ids: Sequence[str], hearing: Set[UUID]) -> str:
    """The outcomes, each with the attempt that led to it; what is not said is NULL, and nothing."""
    rows = []
    for job_id, outcome in zip(ids, outcomes, strict=True):
        # One after the other: by names it would take Python twice as long.
        own, token, transition, next_run_at, counted, system_errors, last_error, error_class, tried = outcome
        row = {"id": job_id, "token": token, "status": transition.target, "counted": counted}
        if transition is not Transition.SUCCEED:
            row["system_errors"], row["failed"] = system_errors, int(outcome.has_failed)
            row["last_error"], row["error_class"] = last_error, error_class
            if own in hearing:
                row["hears"] = True
        if next_run_at is not None:
            row["next_run_at"] = next_run_at.isoformat()
        if tried is not None:
            row["number"], started_at, row["duration_ms"], row["lateness_ms"], row["status_code"], *exchange = tried
            row["started_at"] = started_at.isoformat()
            if exchange != _NO_EXCHANGE:
                row |= zip(_EXCHANGED, exchange, strict=True)
        rows.append(row)
    return _encode(rows)


_ANY = UUID(int=0)


def _resolve_retries(ids: Sequence[UUID], *, now: datetime, using: str, hearing: Set[UUID]) -> set[UUID]:
    """Calls off those of the jobs, pending again, whose business key was resolved, and those that an answer saves.

    Gives those back.
    """
    jobs = Job.objects.using(using)
    left = jobs.filter(id__in=ids, status__in=(_PENDING, _DEAD), biz_type__has_tombstones=True).defer("body", "raw")
    asked = [job for job in left if job.status == _PENDING or job.id in hearing]
    gone = {
        job.id
        for job, tombstone in held_jobs(asked, using=using)
        if (job.id in hearing if tombstone.outcome else job.status == _PENDING)
    }
    if gone:
        jobs.filter(id__in=gone).update(**called_off(now=now))
    return gone


def _write_by_orm(
    outcomes: Sequence[Finished], *, now: datetime, worker: str, using: str, hearing: Set[UUID]
) -> set[UUID]:
    """The same, in a statement for each kind of outcome: most outcomes of a batch are alike."""
    alike: dict[Finished, list[UUID]] = defaultdict(list)
    for outcome in outcomes:
        alike[outcome._replace(job_id=_ANY, tried=None)].append(outcome.job_id)
    written: set[UUID] = set()
    operated: list[tuple[int, UUID, Finished]] = []
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        for outcome, ids in alike.items():
            ours = jobs.filter(id__in=ids, status=_RUNNING, lease_token=outcome.token)
            rows = list(ours.values_list("id", "operation_id"))
            held = [job_id for job_id, _ in rows]
            operated += [(number, job_id, outcome) for job_id, number in rows if number is not None]
            values: dict[str, Any] = {} if outcome.next_run_at is None else {"next_run_at": outcome.next_run_at}
            jobs.filter(id__in=held).update(
                **values,
                status=outcome.status,
                attempts=F("attempts") + outcome.counted,
                system_errors=F("system_errors") + outcome.system_errors,
                last_error=outcome.last_error,
                error_class=outcome.error_class,
                version=F("version") + 1,
                lease_until=None,
                lease_token=None,
                updated_at=now,
                finished_at=None if outcome.status == _PENDING else now,
            )
            written.update(held)
        again = [one.job_id for one in outcomes if one.status in (_PENDING, _DEAD) and one.job_id in written]
        called = _resolve_retries(again, now=now, using=using, hearing=hearing)
        for number in {number for number, _, _ in operated}:
            kinds = [(kind, job_id in called) for of, job_id, kind in operated if of == number]
            Operation.objects.using(using).filter(id=number).update(
                succeeded=F(_SUCCEEDED.value) + sum(kind.status == _SUCCEEDED for kind, _ in kinds),
                failed=F("failed") + sum(kind.has_failed for kind, _ in kinds),
                dead=F(_DEAD.value) + sum(kind.status == _DEAD and not off for kind, off in kinds),
            )
        Attempt.objects.using(using).bulk_create(
            [
                Attempt(job_id=outcome.job_id, worker=worker, **outcome.tried._asdict())
                for outcome in outcomes
                if outcome.tried is not None and outcome.job_id in written
            ]
        )
    return written
