"""The claim: of the ids given, those that are pending and due become running, in one committed statement."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args, get_type_hints
from uuid import UUID

from django.db import Error, connections, transaction
from django.db.models import F

from tasksapp.models import BizType, Job, Series, Transition, error_class
from tasksapp.models.conflicts import repeated
from tasksapp.models.job import age_begins, age_used_up
from tasksapp.models.sealable import stored
from tasksapp.models.series import MISSED
from tasksapp.sql.biz_type_revision import COLUMN, content_revision
from tasksapp.sql.claim_answer import ClaimAnswer, ClaimedJob, Left
from tasksapp.sql.decision import Decision, among
from tasksapp.sql.driver.prepared import StatementByIds
from tasksapp.sql.keep_last import MARK, begin_waiting, is_waiting
from tasksapp.sql.ordered_keys import begin_jobs, take_turns
from tasksapp.sql.read_values import Moments, unix_microseconds
from tasksapp.sql.series_overlap import WAIT, settle_overlaps
from tasksapp.sql.tombstones import HAS_TOMBSTONE, resolved_ids

logger = logging.getLogger(__name__)

#: Reason of a job whose task is sent once more, unless its message still waits.
NOT_TAKEN = (
    "its task was sent, but no worker has run it: it waits behind others or for a limit, none has registered it, or"
    " none consumes its queue"
)
#: When an occurrence is claimed again that would be too late, but whose series has yet to say what an outage made late.
SETTLE_WAIT = timedelta(seconds=1)

#: The reason of a job that the claim does not end, and its kind: what they were, unless its task is sent once more.
_SENT_AGAIN = f"seen.decision = '{Decision.FORWARD}' AND j.lease_until IS NOT NULL"
_REASON_LEFT = f"CASE WHEN {_SENT_AGAIN} THEN '{NOT_TAKEN}' ELSE j.last_error END"
_ERROR_CLASS_LEFT = f"CASE WHEN {_SENT_AGAIN} THEN '{error_class.NOT_TAKEN}' ELSE j.error_class END"


class Pulling(NamedTuple):
    """How a puller claims.

    Args:
        token: what every outcome has to bring; not to be guessed, since it comes back over HTTP.
        lease_seconds: how long the rows are its own; None for the biz type's timeout.
    """

    token: int
    lease_seconds: float | None


#: Distinct, not secret; and unlike the system's own source it does not let go of the interpreter.
_tokens = random.Random()  # noqa: S311  guards against a worker that was late, not against an attacker
os.register_at_fork(after_in_child=_tokens.seed)


def _by_decision(column: str, *, otherwise: str) -> str:
    cases = " ".join(f"WHEN '{one}' THEN '{one.values[column]}'" for one in Decision if column in one.values)
    return f"CASE seen.decision {cases} ELSE {otherwise} END"


#: Where the columns of a ClaimedJob come from, if not from the job's row.
_SOURCES = {
    "turn": "0",
    "biz_type_revision": "seen.biz_type_revision",
    "max_attempts": "coalesce(seen.own_attempts, seen.usual_attempts)",
}
_RETURNED = ", ".join(f"{_SOURCES.get(name, f'j.{name}')} AS {name}" for name in ClaimedJob._fields)
#: The same outside of the UPDATE. The first two are also known of rows that were not taken.
_SELECTED = {name: f"taken.{name}" for name in ClaimedJob._fields} | {
    "id": "seen.id",
    "next_run_at": "coalesce(taken.next_run_at, seen.next_run_at)",
}
_MOMENTS = [
    index for index, hint in enumerate(get_type_hints(ClaimedJob).values()) if datetime in (hint, *get_args(hint))
]
_COLUMNS = ", ".join(
    unix_microseconds(expression) if index in _MOMENTS else expression
    for index, expression in enumerate(_SELECTED.values())
)
_ID, _NEXT_RUN_AT = ClaimedJob._fields.index("id"), ClaimedJob._fields.index("next_run_at")

#: Rows are found by their ids alone. Where statistics know of no pending rows, as between two bursts, the planner would
#: walk the index of those from end to end for each claim; the CASE keeps it from that. Before there are statistics, as
#: after an import, it would read all that a biz type has in an index that begins with it, but for the ``LEFT`` of the
#: join: each job has a biz type all the same. So the planner also knows how many rows there are; of a hundred of which
#: it expects one, it compares each with each. Hence ``free`` hands on what was seen and is not joined with it again.
#: A row that another transaction has changed since the statement began is left, as one that is locked: a tombstone that
#: came meanwhile was not looked for.
#: ``OFFSET 0`` has each decision made once: without it the planner would write ``due`` into each of its readers' terms.
#: ``SHUT`` is the rule of ``BizType.is_shut``, ``OLD`` that of ``tasksapp.models.job.age_used_up``.
_CLAIM = StatementByIds(
    f"""
WITH due AS (
    SELECT j.id, j.version, j.status, j.next_run_at, j.lease_until, b.{COLUMN} AS biz_type_revision, b.timeout_seconds,
        b.guarantee, j.max_attempts AS own_attempts, b.max_attempts AS usual_attempts, b.on_dead, b.on_resolved,
        NOT b.enabled OR b.moved_to <> '' OR coalesce(b.paused_until > %(now)s, false) AS shut,
        (b.target = '{BizType.Target.PULL}') <> %(pulling)s AS elsewhere,
        b.ordered <> '{BizType.Ordered.NO}' AND j.place IS NOT NULL AND NOT %(in_turn)s AS ordered,
        ascii(j.live_key) = {ord(MARK)} AS waiting,
        j.occurrence_at IS NOT NULL AND j.attempts = 0 AND EXISTS (
            SELECT FROM delayhub_series s
            WHERE s.id = j.series_id AND s.make_at < %(now)s - interval '{MISSED.total_seconds()} s'
        ) AS after_outage,
        CASE
            WHEN b.has_tombstones AND {HAS_TOMBSTONE} THEN '{Decision.RESOLVED}'
            WHEN j.expires_at <= %(now)s AND j.redriven_at IS NULL
                THEN CASE WHEN j.attempts = j.attempt_base THEN '{Decision.EXPIRED}' ELSE '{Decision.LAPSED}' END
            WHEN %(now)s - coalesce(j.redriven_at, j.due_at) > b.max_age THEN '{Decision.OLD}'
            WHEN j.attempts = j.attempt_base AND j.redriven_at IS NULL AND b.when_late <> '{BizType.WhenLate.FIRE}'
                AND %(now)s - j.due_at > b.max_lateness THEN b.when_late
            WHEN b.target = '{BizType.Target.CELERY}' AND %(forward)s > 0 THEN '{Decision.FORWARD}'
            ELSE '{Decision.RUN}'
        END AS decision
    FROM delayhub_job j LEFT JOIN delayhub_biz_type b ON b.id = j.biz_type_id
    WHERE j.id = ANY(%(ids)s::uuid[])
    OFFSET 0
), seen AS (
    SELECT *, CASE
        WHEN status <> '{Transition.CLAIM.source}' OR lease_until > %(now)s AND %(forward)s > 0 THEN '{Left.GONE}'
        WHEN elsewhere OR next_run_at > %(now)s THEN '{Left.NOT_DUE}'
        WHEN shut THEN '{Left.SHUT}'
        WHEN ordered THEN '{Left.ORDERED}'
        WHEN waiting THEN '{Left.WAITING}'
        WHEN after_outage AND decision IN {among(one for one in Decision if one.by_lateness)} THEN '{Left.UNSETTLED}'
        WHEN on_dead <> '' AND decision IN {among(one for one in Decision if one.is_death)} THEN '{Left.EXPIRING}'
        WHEN on_resolved <> '' AND decision = '{Decision.RESOLVED}' THEN '{Left.EXPIRING}'
    END AS left_as FROM due
), free AS (
    SELECT seen.* FROM seen JOIN delayhub_job j ON j.id = seen.id
    WHERE seen.left_as IS NULL
        AND CASE WHEN j.status = '{Transition.CLAIM.source}' THEN j.next_run_at <= %(now)s ELSE false END
    ORDER BY j.id FOR NO KEY UPDATE OF j SKIP LOCKED
), taken AS (
    UPDATE delayhub_job j SET
        status = {_by_decision("status", otherwise="j.status")},
        lease_until = %(now)s + make_interval(secs => CASE seen.decision
            WHEN '{Decision.RUN}' THEN coalesce(%(whole_lease)s, %(lease)s + seen.timeout_seconds)
            WHEN '{Decision.FORWARD}' THEN %(forward)s END),
        lease_token = CASE seen.decision WHEN '{Decision.RUN}' THEN %(token)s::bigint END,
        worker = %(worker)s,
        attempts = j.attempts + CASE WHEN seen.decision = '{Decision.RUN}'
            AND seen.guarantee = '{BizType.Guarantee.AT_MOST_ONCE}' THEN 1 ELSE 0 END,
        last_error = {_by_decision("last_error", otherwise=_REASON_LEFT)},
        error_class = {_by_decision("error_class", otherwise=_ERROR_CLASS_LEFT)},
        finished_at = CASE WHEN seen.decision NOT IN {among([Decision.RUN, Decision.FORWARD])}
            THEN %(now)s::timestamptz END,
        updated_at = %(now)s,
        debounce_key = CASE seen.decision WHEN '{Decision.FORWARD}' THEN j.debounce_key ELSE '' END,
        version = j.version + CASE seen.decision WHEN '{Decision.FORWARD}' THEN 0 ELSE 1 END
    FROM free AS seen WHERE j.id = seen.id AND j.version = seen.version
    RETURNING j.status, {_RETURNED}
)
SELECT coalesce(seen.left_as, '{Left.LOCKED}'), taken.status, {_COLUMNS}
FROM seen LEFT JOIN taken ON taken.id = seen.id
""",  # noqa: S608  our own constants
    {
        "now": "timestamptz",
        "token": "bigint",
        "worker": "text",
        "lease": "double precision",
        "whole_lease": "double precision",
        "forward": "double precision",
        "pulling": "boolean",
        "in_turn": "boolean",
    },
)


@repeated
def claim_jobs(
    ids: Sequence[UUID],
    *,
    now: datetime,
    lease_seconds: float,
    worker: str,
    using: str,
    forward_seconds: float = 0,
    pulling: Pulling | None = None,
) -> ClaimAnswer:
    """Claims what can be claimed, and gives back what became of each job.

    Args:
        ids: the jobs.
        now: Redis' time, which came with the timers.
        lease_seconds: how long a claimed row is ours, beyond the biz type's timeout.
        worker: who claims.
        using: the database.
        forward_seconds: jobs that run a Celery task are only marked as under way for so long; 0: they are claimed.
        pulling: how pullers claim: jobs of biz types that are pulled, and no others. None for a worker, which claims
            all others.
    """
    answer = ClaimAnswer(token=_tokens.getrandbits(63) if pulling is None else pulling.token)
    values: dict[str, Any] = {
        "now": now,
        "worker": worker,
        "lease": lease_seconds,
        "whole_lease": None if pulling is None else pulling.lease_seconds,
        "forward": forward_seconds,
        "pulling": pulling is not None,
    }
    _claim(answer, ids, in_turn=False, using=using, values=values)
    apart: Sequence[tuple[list[UUID], Callable[..., ClaimAnswer]]] = (
        (answer.waiting, _claim_waiting),
        (answer.ordered, _claim_in_turn),
    )
    for asked, claim in apart:
        if not asked:
            continue
        try:
            answer.add(claim(asked, token=answer.token, using=using, values=values))
        except Error:
            if not answer.claimed:
                raise
            # What was claimed before is ours already: it is delivered, and the others come again.
            logger.exception("claiming jobs that wait for others failed")
            answer.locked += asked
    if any(job.series_id is not None for job in answer.claimed):
        settle_overlaps(answer, now=now, using=using)
    answer.keep_order(ids)
    answer.add_missing(ids)
    return answer


def _claim(answer: ClaimAnswer, ids: Sequence[UUID], *, in_turn: bool, using: str, values: dict[str, Any]) -> None:
    """The statement; ``in_turn``: the caller holds the flow keys of those that are ordered, and they are the first."""
    if connections[using].vendor == "postgresql":
        moments = Moments()
        for row in _CLAIM.rows(connections[using], ids, {**values, "token": answer.token, "in_turn": in_turn}):
            _add(answer, row, now=values["now"], moments=moments)
    else:
        _claim_by_orm(answer, ids, using=using, in_turn=in_turn, **values)


@repeated
def _claim_waiting(
    ids: Sequence[UUID], *, token: int, using: str, values: dict[str, Any], in_turn: bool = False
) -> ClaimAnswer:
    """Claims those of the jobs that wait for no other one of their biz id any more."""
    answer, now = ClaimAnswer(token=token), values["now"]
    turns = begin_waiting(ids, now=now, using=using, in_turn=in_turn)
    answer.not_due = [(job_id, now + WAIT) for job_id in turns.behind]
    answer.locked = [job_id for job_id in ids if job_id not in {*turns.begun, *turns.behind}]
    if turns.begun:
        _claim(answer, turns.begun, in_turn=in_turn, using=using, values=values)
    return answer


@repeated
def _claim_in_turn(ids: Sequence[UUID], *, token: int, using: str, values: dict[str, Any]) -> ClaimAnswer:
    """Claims those of the ordered jobs that are the first of their flow keys; one transaction holds the keys."""
    answer = ClaimAnswer(token=token)
    with transaction.atomic(using=using):
        turns = take_turns(ids, using=using)
        answer.blocked, answer.locked = turns.blocked, turns.locked
        if turns.first:
            _claim(answer, turns.first, in_turn=True, using=using, values=values)
            if answer.waiting:
                answer.add(_claim_waiting(answer.waiting, token=token, using=using, values=values, in_turn=True))
            begun = begin_jobs([job.id for job in (*answer.claimed, *answer.forwarded)], using=using)
            answer.claimed = [job._replace(turn=begun[job.id]) for job in answer.claimed]
    return answer


def _add(answer: ClaimAnswer, row: Sequence[Any], *, now: datetime, moments: Moments) -> None:
    """Notes what a row of the statement says."""
    left, became, *columns = row
    if became is None:
        answer.add_left(
            columns[_ID], Left(left), next_run_at=moments[columns[_NEXT_RUN_AT]], settled_at=now + SETTLE_WAIT
        )
        return
    for index in _MOMENTS:
        columns[index] = moments[columns[index]]
    answer.add_taken(ClaimedJob._make(columns), status=became)


def _claim_by_orm(
    answer: ClaimAnswer,
    ids: Sequence[UUID],
    *,
    now: datetime,
    lease: float,
    whole_lease: float | None,
    worker: str,
    forward: float,
    pulling: bool,
    in_turn: bool,
    using: str,
) -> None:
    """The same where the whole database is locked by one writer at a time."""
    ours: dict[tuple[Decision, float, bool, bool], list[UUID]] = {}
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        found = list(jobs.filter(id__in=ids).select_related("biz_type"))
        resolved = resolved_ids([job for job in found if job.biz_type.has_tombstones], using=using)
        for job in found:
            biz_type = job.biz_type
            decision = Decision.RESOLVED if job.id in resolved else decision_of(job, now=now, forwarding=forward > 0)
            left = _left(job, decision, now=now, forward=forward, pulling=pulling, in_turn=in_turn)
            if left is not None:
                answer.add_left(job.id, left, next_run_at=job.next_run_at, settled_at=now + SETTLE_WAIT)
                continue
            counted = decision is Decision.RUN and biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE
            seconds = lease + biz_type.timeout_seconds if whole_lease is None else whole_lease
            seconds = forward if decision == Decision.FORWARD else seconds
            again = decision == Decision.FORWARD and job.lease_until is not None
            ours.setdefault((decision, seconds, counted, again), []).append(job.id)
            values = new_values(decision, now=now, seconds=seconds, token=answer.token, again=again)
            changed = {"lease_until": values["lease_until"], "error_class": values.get("error_class", job.error_class)}
            taken = _claimed(job, attempts=job.attempts + counted, **changed)
            answer.add_taken(taken, status=values.get("status", job.status))
        for (decision, seconds, counted, again), group in ours.items():
            values = new_values(decision, now=now, seconds=seconds, token=answer.token, again=again)
            if counted:
                values["attempts"] = F("attempts") + 1
            if decision != Decision.FORWARD:
                # From here on nothing replaces it, and it may come back to pending beside a younger one.
                values |= {"version": F("version") + 1, "debounce_key": ""}
            jobs.filter(id__in=group).update(**values, worker=worker, updated_at=now)


def _left(job: Job, decision: Decision, *, now: datetime, forward: float, pulling: bool, in_turn: bool) -> Left | None:
    """Why a claim leaves a job as it is; None: it does not."""
    under_way = bool(forward and job.lease_until is not None and job.lease_until > now)
    if job.status != Transition.CLAIM.source or under_way:
        return Left.GONE
    if job.biz_type.is_pulled != pulling or job.next_run_at > now:
        return Left.NOT_DUE
    if job.biz_type.is_shut(now=now):
        return Left.SHUT
    is_ordered = job.biz_type.is_ordered and job.place is not None and not in_turn
    if is_ordered or is_waiting(job.live_key):
        return Left.ORDERED if is_ordered else Left.WAITING
    if decision.by_lateness and _is_after_outage(job, now=now):
        return Left.UNSETTLED
    follow_up = job.biz_type.on_dead if decision.is_death else ""
    follow_up = job.biz_type.on_resolved if decision is Decision.RESOLVED else follow_up
    return Left.EXPIRING if follow_up else None


def _is_after_outage(job: Job, *, now: datetime) -> bool:
    """Whether the job is an occurrence that no worker has taken, and its series waits to be looked at since long."""
    if job.series_id is None or job.occurrence_at is None or job.attempts:
        return False
    return Series.objects.using(job._state.db).filter(id=job.series_id, make_at__lt=now - MISSED).exists()


def decision_of(job: Job, *, now: datetime, forwarding: bool) -> Decision:
    """What a claim decides about a job that is due, apart from tombstones."""
    biz_type = job.biz_type
    if job.expires_at is not None and job.expires_at <= now and job.redriven_at is None:
        return Decision.LAPSED if job.attempts_used else Decision.EXPIRED
    if age_used_up(now=now, counted_from=age_begins(job), max_age=biz_type.max_age):
        return Decision.OLD
    if (
        biz_type.when_late != BizType.WhenLate.FIRE
        and biz_type.max_lateness is not None
        and not job.attempts_used
        and job.redriven_at is None
        and now - job.due_at > biz_type.max_lateness
    ):
        return Decision(biz_type.when_late)
    return Decision.FORWARD if forwarding and biz_type.target == BizType.Target.CELERY else Decision.RUN


def new_values(decision: Decision, *, now: datetime, seconds: float, token: int, again: bool = False) -> dict[str, Any]:
    """The columns that a decision changes, with their new values; ``again``: of one that was forwarded before."""
    if decision is Decision.FORWARD:
        not_taken = {"last_error": NOT_TAKEN, "error_class": error_class.NOT_TAKEN} if again else {}
        return {"lease_until": now + timedelta(seconds=seconds), **not_taken}
    if decision is Decision.RUN:
        return {**decision.values, "lease_until": now + timedelta(seconds=seconds), "lease_token": token}
    return {**decision.values, "lease_until": None, "finished_at": now}


def _claimed(job: Job, **changed: Any) -> ClaimedJob:
    own = {name: stored(job, name) for name in ClaimedJob._fields if name not in _SOURCES}
    budget = job.max_attempts or job.biz_type.max_attempts
    return ClaimedJob(
        **{**own, "biz_type_revision": content_revision(job.biz_type), "max_attempts": budget, **changed},
    )
