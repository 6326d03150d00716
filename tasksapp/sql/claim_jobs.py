"""The claim: of the ids given, those that are pending and due become running, in one committed statement."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections, transaction
from django.db.models import F

from tasksapp.models import BizType, Job, Status
from tasksapp.models.max_age import age_begins, age_used_up
from tasksapp.sql.driver.prepared import StatementByIds


class ClaimedJob(NamedTuple):
    """A row that is ours until ``lease_until``, as far as its delivery needs it."""

    id: UUID
    biz_type_id: int
    biz_type_updated_at: datetime
    biz_id: str
    body: str
    due_at: datetime
    next_run_at: datetime
    redriven_at: datetime | None
    priority: int
    attempts: int
    attempt_base: int
    max_attempts: int
    traceparent: str
    lease_until: datetime


@dataclass(slots=True)
class ClaimAnswer:
    """What became of each id of a claim.

    Args:
        token: what every outcome of the claimed rows has to bring.
        claimed: ours now.
        forwarded: their biz type runs a Celery task, whose own worker claims them; not forwarded again for a while.
        not_due: id and the time the row says.
        shut: pending and due, but their biz type is paused or disabled.
        locked: somebody else holds the row at this moment.
        ended: too old or too late: skipped or dead by this claim.
        gone: not pending any more, or no such row.
    """

    token: int
    claimed: list[ClaimedJob] = field(default_factory=list)
    forwarded: list[ClaimedJob] = field(default_factory=list)
    not_due: list[tuple[UUID, datetime]] = field(default_factory=list)
    shut: list[UUID] = field(default_factory=list)
    locked: list[UUID] = field(default_factory=list)
    ended: list[UUID] = field(default_factory=list)
    gone: list[UUID] = field(default_factory=list)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Reasons of jobs that a claim ends.
TOO_OLD = "max_age is used up"
TOO_LATE = "too late: max_lateness is exceeded"

#: Distinct, not secret; and unlike the system's own source it does not let go of the interpreter.
_tokens = random.Random()  # noqa: S311  guards against a worker that was late, not against an attacker
os.register_at_fork(after_in_child=_tokens.seed)


def _us(column: str) -> str:
    """A moment as µs since 1970: reading it as text takes Python 8 µs, as much as claiming the row."""
    return f"(extract(epoch FROM {column}) * 1000000)::bigint"


#: Rows are found by their ids alone. Where statistics know of no pending rows, as between two bursts, the planner would
#: walk the index of those from end to end for each claim; the CASE keeps it from that.
#: ``shut`` is the rule of ``BizType.is_shut``, ``'old'`` that of ``tasksapp.models.max_age.age_used_up``.
_CLAIM = StatementByIds(
    f"""
WITH seen AS (
    SELECT j.id, j.status, j.next_run_at, b.updated_at AS biz_type_updated_at, b.timeout_seconds, b.guarantee,
        j.max_attempts AS own_attempts, b.max_attempts AS usual_attempts,
        NOT b.enabled OR coalesce(b.paused_until > %(now)s, false) AS shut,
        j.status = 'pending' AND coalesce(j.lease_until > %(now)s, false) AND %(forward)s > 0 AS under_way,
        CASE
            WHEN %(now)s - coalesce(j.redriven_at, j.due_at) > b.max_age THEN 'old'
            WHEN j.attempts = j.attempt_base AND j.redriven_at IS NULL AND b.when_late <> 'fire'
                AND %(now)s - j.due_at > b.max_lateness THEN b.when_late
            WHEN b.target = 'celery' AND %(forward)s > 0 THEN 'forward'
            ELSE 'run'
        END AS verdict
    FROM delayhub_job j JOIN delayhub_biz_type b ON b.id = j.biz_type_id
    WHERE j.id = ANY(%(ids)s::uuid[])
), free AS (
    SELECT j.id FROM delayhub_job j
    WHERE j.id = ANY(%(ids)s::uuid[]) AND j.id IN (SELECT id FROM seen WHERE NOT shut AND NOT under_way)
        AND CASE WHEN j.status = 'pending' THEN j.next_run_at <= %(now)s ELSE false END
    ORDER BY j.id FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE delayhub_job j SET
        status = CASE seen.verdict
            WHEN 'run' THEN 'running' WHEN 'forward' THEN 'pending' WHEN 'skip' THEN 'skipped' ELSE 'dead' END,
        lease_until = %(now)s + make_interval(secs => CASE seen.verdict
            WHEN 'run' THEN %(lease)s + seen.timeout_seconds WHEN 'forward' THEN %(forward)s END),
        lease_token = CASE seen.verdict WHEN 'run' THEN %(token)s::bigint END,
        worker = %(worker)s,
        attempts = j.attempts
            + CASE WHEN seen.verdict = 'run' AND seen.guarantee = 'at_most_once' THEN 1 ELSE 0 END,
        last_error = CASE seen.verdict
            WHEN 'old' THEN '{TOO_OLD}' WHEN 'skip' THEN '{TOO_LATE}' WHEN 'dead' THEN '{TOO_LATE}'
            ELSE j.last_error END,
        finished_at = CASE WHEN seen.verdict IN ('run', 'forward') THEN NULL ELSE %(now)s::timestamptz END,
        updated_at = %(now)s,
        debounce_key = CASE seen.verdict WHEN 'forward' THEN j.debounce_key ELSE '' END,
        version = j.version + CASE seen.verdict WHEN 'forward' THEN 0 ELSE 1 END
    FROM free JOIN seen ON seen.id = free.id
    WHERE j.id = free.id
    RETURNING j.*, seen.biz_type_updated_at, coalesce(seen.own_attempts, seen.usual_attempts) AS budget
)
SELECT seen.id, seen.status, {_us("coalesce(taken.next_run_at, seen.next_run_at)")}, seen.shut, seen.under_way,
    taken.status, taken.biz_type_id, {_us("taken.biz_type_updated_at")}, taken.biz_id, taken.body,
    {_us("taken.due_at")}, {_us("taken.redriven_at")}, taken.priority, taken.attempts, taken.attempt_base, taken.budget,
    taken.traceparent, {_us("taken.lease_until")}
FROM seen LEFT JOIN taken ON taken.id = seen.id
""",  # noqa: S608  the reasons are our own constants
    {
        "now": "timestamptz",
        "token": "bigint",
        "worker": "text",
        "lease": "double precision",
        "forward": "double precision",
    },
)


def claim_jobs(
    ids: Sequence[UUID], *, now: datetime, lease_seconds: float, worker: str, using: str, forward_seconds: float = 0
) -> ClaimAnswer:
    """Claims what can be claimed.

    Args:
        ids: the jobs.
        now: Redis' time, which came with the timers.
        lease_seconds: how long a claimed row is ours, beyond the biz type's timeout.
        worker: who claims.
        using: the database.
        forward_seconds: jobs that run a Celery task are only marked as under way for so long; 0: they are claimed.
    """
    answer = ClaimAnswer(token=_tokens.getrandbits(63))
    if connections[using].vendor == "postgresql":
        values = {"now": now, "worker": worker, "token": answer.token, "lease": lease_seconds}
        for row in _CLAIM.rows(connections[using], ids, {**values, "forward": forward_seconds}):
            _sort_row(answer, row, now)
    else:
        _claim_by_orm(
            answer,
            ids,
            now=now,
            lease_seconds=lease_seconds,
            worker=worker,
            using=using,
            forward_seconds=forward_seconds,
        )
    known = {entry if isinstance(entry, UUID) else entry[0] for entry in _every(answer)}
    answer.gone += [job_id for job_id in ids if job_id not in known]
    return answer


def _sort(answer: ClaimAnswer, row: Sequence[Any], now: datetime) -> None:
    job_id, status, next_run_at, shut, under_way, became, *columns = row
    if became is not None:
        _sort_taken(answer, job_id, became, columns)
    elif status != Status.PENDING or under_way:
        answer.gone.append(job_id)
    elif next_run_at > now:
        answer.not_due.append((job_id, next_run_at))
    elif shut:
        answer.shut.append(job_id)
    else:
        answer.locked.append(job_id)


def _sort_row(answer: ClaimAnswer, row: Sequence[Any], now: datetime) -> None:
    """A row of the statement, whose moments are µs."""
    if row[5] is None:
        _sort(answer, (*row[:2], _moment(row[2]), *row[3:]), now)
        return
    job_id, _, run_us, _, _, became, biz_type_id, edited_us, biz_id, body, due_us, redriven_us, *numbers, until_us = row
    run_at = _moment(run_us)
    columns = (
        job_id,
        biz_type_id,
        _moment(edited_us),
        biz_id,
        body,
        run_at if due_us == run_us else _moment(due_us),
        run_at,
        None if redriven_us is None else _moment(redriven_us),
        *numbers,
        None if until_us is None else _moment(until_us),
    )
    _sort_taken(answer, job_id, became, columns)


def _moment(unix_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=unix_us)


def _sort_taken(answer: ClaimAnswer, job_id: UUID, became: str, columns: Sequence[Any]) -> None:
    if became == Status.RUNNING:
        answer.claimed.append(ClaimedJob._make(columns))
    elif became == Status.PENDING:
        answer.forwarded.append(ClaimedJob._make(columns))
    else:
        answer.ended.append(job_id)


def _every(answer: ClaimAnswer) -> list[Any]:
    kept = [*answer.claimed, *answer.forwarded, *answer.not_due]
    return [*kept, *answer.shut, *answer.locked, *answer.ended, *answer.gone]


def _claim_by_orm(
    answer: ClaimAnswer,
    ids: Sequence[UUID],
    *,
    now: datetime,
    lease_seconds: float,
    worker: str,
    using: str,
    forward_seconds: float,
) -> None:
    """The same where the whole database is locked by one writer at a time."""
    ours: dict[tuple[str, float, bool], list[UUID]] = {}
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        for job in jobs.filter(id__in=ids).select_related("biz_type"):
            biz_type = job.biz_type
            shut = biz_type.is_shut(now=now)
            due = job.status == Status.PENDING and job.next_run_at <= now
            under_way = bool(forward_seconds and job.lease_until is not None and job.lease_until > now)
            if shut or under_way or not due:
                _sort(answer, (job.id, job.status, job.next_run_at, shut, under_way, None), now)
                continue
            counted = biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE
            verdict = _verdict(job, biz_type, now, forwarding=forward_seconds > 0)
            seconds = forward_seconds if verdict == "forward" else lease_seconds + biz_type.timeout_seconds
            ours.setdefault((verdict, seconds, counted), []).append(job.id)
            values = _values(verdict, now=now, seconds=seconds, token=answer.token)
            _sort_taken(answer, job.id, values["status"], _columns(job, biz_type, values["lease_until"]))
        for (verdict, seconds, counted), group in ours.items():
            values = _values(verdict, now=now, seconds=seconds, token=answer.token)
            if verdict == "run" and counted:
                values["attempts"] = F("attempts") + 1
            if verdict != "forward":
                # From here on nothing replaces it, and it may come back to pending beside a younger one.
                values |= {"version": F("version") + 1, "debounce_key": ""}
            jobs.filter(id__in=group).update(**values, worker=worker, updated_at=now)


def _verdict(job: Job, biz_type: BizType, now: datetime, *, forwarding: bool) -> str:
    if age_used_up(now=now, counted_from=age_begins(job), max_age=biz_type.max_age):
        return "old"
    if (
        biz_type.when_late != BizType.WhenLate.FIRE
        and biz_type.max_lateness is not None
        and not job.attempts_used
        and job.redriven_at is None
        and now - job.due_at > biz_type.max_lateness
    ):
        return biz_type.when_late
    return "forward" if forwarding and biz_type.target == BizType.Target.CELERY else "run"


def _values(verdict: str, *, now: datetime, seconds: float, token: int) -> dict[str, Any]:
    until = now + timedelta(seconds=seconds)
    match verdict:
        case "run":
            return {"status": Status.RUNNING, "lease_until": until, "lease_token": token}
        case "forward":
            return {"status": Status.PENDING, "lease_until": until}
    return {
        "status": Status.SKIPPED if verdict == "skip" else Status.DEAD,
        "last_error": TOO_OLD if verdict == "old" else TOO_LATE,
        "lease_until": None,
        "finished_at": now,
    }


def _columns(job: Job, biz_type: BizType, lease_until: datetime | None) -> list[Any]:
    counted = biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE
    budget = job.max_attempts or biz_type.max_attempts
    return [
        job.id,
        biz_type.id,
        biz_type.updated_at,
        job.biz_id,
        job.body,
        job.due_at,
        job.next_run_at,
        job.redriven_at,
        job.priority,
        job.attempts + counted,
        job.attempt_base,
        budget,
        job.traceparent,
        lease_until,
    ]
