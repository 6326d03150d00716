"""The claim: of the ids given, those that are pending and due become running, in one committed statement."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, get_args, get_type_hints
from uuid import UUID

from django.db import Error, connections, transaction
from django.db.models import F

from tasksapp.extending.claim_rules import Claim, EndRule, WaitRule, claim_hooks, end_rules, wait_rules
from tasksapp.models import BizType, Job, Transition, error_class
from tasksapp.models.conflicts import repeated
from tasksapp.models.job import age_begins, age_used_up
from tasksapp.models.sealable import stored
from tasksapp.sql.biz_type_revision import COLUMN, content_revision
from tasksapp.sql.claim_answer import ClaimAnswer, ClaimedJob, Left
from tasksapp.sql.decision import Decision, among
from tasksapp.sql.driver.prepared import StatementByIds
from tasksapp.sql.read_values import Moments, unix_microseconds

logger = logging.getLogger(__name__)

#: Reason of a job whose task is sent once more, unless its message still waits.
NOT_TAKEN = (
    "its task was sent, but no worker has run it: it waits behind others or for a limit, none has registered it, or"
    " none consumes its queue"
)
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
def _composed(waiting: Sequence[WaitRule], ending: Sequence[EndRule]) -> StatementByIds:
    columns = "".join(f"{sql} AS {name}, " for rule in waiting for name, sql in rule.columns.items())
    ends = " ".join(f"WHEN {rule.when} THEN '{rule.decision}'" for rule in ending)
    waits = " ".join(f"WHEN {rule.when} THEN '{rule.name}'" for rule in waiting)
    return StatementByIds(
        f"""
WITH due AS (
    SELECT j.id, j.version, j.status, j.next_run_at, j.lease_until, b.{COLUMN} AS biz_type_revision, b.timeout_seconds,
        b.guarantee, j.max_attempts AS own_attempts, b.max_attempts AS usual_attempts,
        NOT b.enabled OR b.moved_to <> '' OR coalesce(b.paused_until > %(now)s, false) AS shut,
        (b.target = '{BizType.Target.PULL}') <> %(pulling)s AS elsewhere,
        {columns}
        CASE
            {ends}
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
        {waits}
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


class _Composed:
    """The statement, and the rules that it is composed of."""

    rules: tuple[Sequence[WaitRule], Sequence[EndRule]] | None = None
    statement: StatementByIds


def claim_statement() -> StatementByIds:
    """Return the claim as PostgreSQL runs it, composed of the rules that are added."""
    waiting, ending = wait_rules.all, end_rules.all
    known = _Composed.rules
    if known is None or known[0] is not waiting or known[1] is not ending:
        _Composed.statement, _Composed.rules = _composed(waiting, ending), (waiting, ending)
    return _Composed.statement


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
    token = _tokens.getrandbits(63) if pulling is None else pulling.token
    values: dict[str, Any] = {
        "now": now,
        "worker": worker,
        "lease": lease_seconds,
        "whole_lease": None if pulling is None else pulling.lease_seconds,
        "forward": forward_seconds,
        "pulling": pulling is not None,
    }

    def claim(into: ClaimAnswer, some: Sequence[UUID], in_turn: bool) -> None:
        _claim(into, some, in_turn=in_turn, values=values, under_way=under_way)

    under_way = Claim(now, using, token, worker, claim)
    answer = _claim_first(ids, under_way)
    if answer.left:
        _claim_apart(answer, under_way)
    for hook in claim_hooks.all:
        if hook.settle is not None:
            hook.settle(answer, under_way)
    answer.keep_order(ids)
    answer.add_missing(ids)
    return answer


@repeated
def _claim_first(ids: Sequence[UUID], under_way: Claim) -> ClaimAnswer:
    """Return what the statement says. What follows is not repeated with it: what was claimed would seem gone."""
    answer = ClaimAnswer(token=under_way.token)
    under_way.claim(answer, ids, False)
    return answer


def _claim_apart(answer: ClaimAnswer, under_way: Claim) -> None:
    """Decide about the rows that rules left, those of the highest rank first."""
    rules = {rule.name: rule for rule in wait_rules.all}
    while answer.left:  # what is claimed apart may be left by another rule
        rule = max((rules[name] for name in answer.left), key=lambda one: one.rank)
        ids = answer.left.pop(rule.name)
        if rule.again_after is not None:
            answer.not_due += [(job_id, under_way.now + rule.again_after) for job_id in ids]
        if rule.apart is None:
            continue
        try:
            answer.add(rule.apart(ids, under_way, False))
        except Error:
            if not answer.claimed and not answer.forwarded:
                raise
            # What was taken before is ours already: it is delivered or sent, and the others are claimed again.
            logger.exception("deciding about %s jobs failed: %s", len(ids), rule.name)
            answer.locked += ids


def _claim(
    answer: ClaimAnswer, ids: Sequence[UUID], *, in_turn: bool, values: dict[str, Any], under_way: Claim
) -> None:
    """Run the statement; ``in_turn``: the caller holds the turn of these rows."""
    connection = connections[under_way.using]
    if connection.vendor == "postgresql":
        moments = Moments()
        for row in claim_statement().rows(connection, ids, {**values, "token": answer.token, "in_turn": in_turn}):
            _add(answer, row, moments=moments)
    else:
        _claim_by_orm(answer, ids, in_turn=in_turn, under_way=under_way, **values)


def _add(answer: ClaimAnswer, row: Sequence[Any], *, moments: Moments) -> None:
    """Notes what a row of the statement says."""
    left, became, *columns = row
    if became is None:
        answer.add_left(columns[_ID], left, next_run_at=moments[columns[_NEXT_RUN_AT]])
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
    under_way: Claim,
) -> None:
    """The same where the whole database is locked by one writer at a time."""
    ours: dict[tuple[Decision, float, bool, bool], list[UUID]] = {}
    using = under_way.using
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using)
        found = list(jobs.filter(id__in=ids).select_related("biz_type"))
        ended = {job_id: rule.decision for rule in reversed(end_rules.all) for job_id in rule.found(found, using)}
        for job in found:
            biz_type = job.biz_type
            decision = ended.get(job.id) or decision_of(job, now=now, forwarding=forward > 0)
            left = _left(job, decision, under_way, forward=forward, pulling=pulling, in_turn=in_turn)
            if left is not None:
                answer.add_left(job.id, left, next_run_at=job.next_run_at)
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


def _left(
    job: Job, decision: Decision, under_way: Claim, *, forward: float, pulling: bool, in_turn: bool
) -> str | None:
    """Return why a claim leaves a job as it is; None if it does not."""
    now = under_way.now
    if job.status != Transition.CLAIM.source or bool(forward and job.lease_until is not None and job.lease_until > now):
        return Left.GONE
    if job.biz_type.is_pulled != pulling or job.next_run_at > now:
        return Left.NOT_DUE
    if job.biz_type.is_shut(now=now):
        return Left.SHUT
    return next((rule.name for rule in wait_rules.all if rule.holds(job, decision, under_way, in_turn)), None)


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
