"""Ends of due jobs at their claim: a resolved business key, and ends from which another job follows."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from tasksapp.extending.claim_rules import Claim, EndRule, WaitRule
from tasksapp.jobs.follow_ups import EndedJob, make_follow_ups
from tasksapp.models import Job, Status
from tasksapp.models.conflicts import repeated
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.decision import Decision, among
from tasksapp.sql.expire_jobs import expire_jobs
from tasksapp.sql.tombstones import HAS_TOMBSTONE, resolved_ids


def _resolved(jobs: Sequence[Job], using: str) -> set[UUID]:
    return set(resolved_ids([job for job in jobs if job.biz_type.has_tombstones], using=using))


ENDS_RESOLVED = EndRule(
    rank=10, decision=Decision.RESOLVED, when=f"b.has_tombstones AND {HAS_TOMBSTONE}", found=_resolved
)


def _is_followed(job: Job, decision: Decision, claim: Claim, in_turn: bool) -> bool:
    if decision is Decision.RESOLVED:
        return bool(job.biz_type.on_resolved)
    return bool(decision.is_death and job.biz_type.on_dead)


@repeated
def _end(ids: Sequence[UUID], under_way: Claim, in_turn: bool) -> ClaimAnswer:
    """End jobs that are too old, too late or resolved, and make the jobs that follow, in one transaction."""
    answer, using = ClaimAnswer(token=under_way.token), under_way.using
    with transaction.atomic(using=using):
        ended = expire_jobs(ids, now=under_way.now, worker=under_way.worker, using=using)
        make_follow_ups([EndedJob.of(job) for job in ended], using=using)
    answer.ended = [job.id for job in ended]
    answer.died = [(job.biz_type_id, job.error_class) for job in ended if job.status == Status.DEAD]
    known = set(answer.ended)
    answer.locked = [job_id for job_id in ids if job_id not in known]
    return answer


_DEATHS = among(one for one in Decision if one.is_death)
ENDS_WITH_FOLLOW_UPS = WaitRule(
    name="followed",
    rank=40,
    when=f"on_dead <> '' AND decision IN {_DEATHS} OR on_resolved <> '' AND decision = '{Decision.RESOLVED}'",
    columns={"on_dead": "b.on_dead", "on_resolved": "b.on_resolved"},
    holds=_is_followed,
    apart=_end,
)
